package predicate

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

const document = `
IP: {src_addr: 10.0.0.1}
UDP: {src_port: 9000}
HTTP: {method: GET, url: {path: "/a/b?x=1"}, headers: {age: "7", accept-language: en-US, when: "2026-01-02T03:04:05Z"}}
tags: [a, b, {x: 1}]
none: null
`

// parse returns a value of YAML.
func parseValue(t testing.TB, text string) any {
	t.Helper()
	v, err := config.ParseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPredicates(t *testing.T) {
	d := metadata.Tree{Root: parseValue(t, document)}
	for text, want := range map[string]bool{
		`"*"`: true, ``: true,
		`{op: test, path: /HTTP/method, value: GET}`:                                                   true,
		`{op: test, path: HTTP/method, value: GET}`:                                                    true,
		`{op: test, path: /HTTP/method/, value: get}`:                                                  false,
		`{op: test, path: /HTTP/method, value: get, ignore_case: true}`:                                true,
		`{op: test, path: /UDP, value: {src_port: 9000}}`:                                              true,
		`{op: test, path: /UDP/src_port, value: 9000.0}`:                                               true,
		`{op: test, path: /UDP/src_port, value: "9000"}`:                                               false,
		`{op: test, path: /nothing, value: null}`:                                                      false,
		`{op: defined, path: /none}`:                                                                   true,
		`{op: defined, path: /none/x}`:                                                                 false,
		`{op: undefined, path: /nothing}`:                                                              true,
		`{op: undefined, path: /none}`:                                                                 false,
		`{op: starts, path: /HTTP/url/path, value: /a}`:                                                true,
		`{op: starts, path: /UDP/src_port, value: "9"}`:                                                false,
		`{op: starts, path: /none, value: "n"}`:                                                        false,
		`{op: ends, path: /HTTP/url/path, value: "1"}`:                                                 true,
		`{op: ends, path: /HTTP/method, value: "XGET"}`:                                                false,
		`{op: ends, path: /HTTP/method, value: "et", ignore_case: true}`:                               true,
		`{op: contains, path: /HTTP/url/path, value: "b?"}`:                                            true,
		`{op: contains, path: /tags, value: {x: 1}}`:                                                   true,
		`{op: contains, path: /tags, value: c}`:                                                        false,
		`{op: contains, path: /HTTP, value: GET}`:                                                      false,
		`{op: less, path: /UDP/src_port, value: 9000}`:                                                 false,
		`{op: less, path: /UDP/src_port, value: 9001}`:                                                 true,
		`{op: more, path: /UDP/src_port, value: 8999}`:                                                 true,
		`{op: more, path: /HTTP/method, value: 1}`:                                                     false,
		`{op: range, path: /UDP/src_port, value: [9001, 10000]}`:                                       false,
		`{op: range, path: /UDP/src_port, value: [9000, 9001]}`:                                        true,
		`{op: range, path: /UDP/src_port, value: [8999, 9000]}`:                                        false,
		`{op: range, path: /HTTP/headers/age, value: [-5, 8]}`:                                         true,
		`{op: range, path: /nothing, value: [0, 1]}`:                                                   false,
		`{op: range, path: /HTTP/method, value: [0, 1]}`:                                               false,
		`{op: within, path: /IP/src_addr, value: [192.168.0.0/16, 10.0.0.0/30]}`:                       true,
		`{op: within, path: /IP/src_addr, value: [10.0.0.1]}`:                                          true,
		`{op: within, path: /IP/src_addr, value: ["::/0", 10.0.0.4/30]}`:                               false,
		`{op: within, path: /IP/src_addr, value: []}`:                                                  false,
		`{op: within, path: /HTTP/method, value: [0.0.0.0/0]}`:                                         false,
		`{op: within, path: /UDP/src_port, value: [0.0.0.0/0]}`:                                        false,
		`{op: in, path: /HTTP/method, value: [POST, GET]}`:                                             true,
		`{op: in, path: /nothing, value: [null]}`:                                                      false,
		`{op: matches, path: /HTTP/url/path, value: "a.b"}`:                                            true,
		`{op: matches, path: /HTTP/url/path, value: "^a"}`:                                             false,
		`{op: matches, path: /UDP/src_port, value: "9"}`:                                               false,
		`{op: type, path: /tags, value: array}`:                                                        true,
		`{op: type, path: /HTTP, value: object}`:                                                       true,
		`{op: type, path: /nothing, value: undefined}`:                                                 true,
		`{op: type, path: /none, value: "null"}`:                                                       true,
		`{op: type, path: /HTTP/headers/when, value: date-time}`:                                       true,
		`{op: type, path: /HTTP/headers/when, value: date}`:                                            false,
		`{op: type, path: /HTTP/headers/accept-language, value: lang}`:                                 true,
		`{op: contained, path: /tags, value: a}`:                                                       true,
		`{op: intersects, path: /tags, value: [z, b]}`:                                                 true,
		`{op: intersects, path: /tags, value: [z]}`:                                                    false,
		`{op: and, apply: []}`:                                                                         true,
		`{op: or, apply: []}`:                                                                          false,
		`{op: not, apply: []}`:                                                                         true,
		`{op: and, path: /HTTP, apply: [{op: test, path: /method, value: GET}]}`:                       true,
		`{op: or, apply: [{op: defined, path: /x}, {op: defined, path: /tags}]}`:                       true,
		`{op: not, apply: [{op: defined, path: /x}, {op: defined, path: /tags}]}`:                      false,
		`{op: not, apply: [{op: defined, path: /x}, {op: starts, path: /UDP/src_port, value: "9"}]}`:   true,
		`{op: or, path: /HTTP, apply: [{op: and, path: /url, apply: [{op: defined, path: /path}]}]}`:   true,
		`{op: or, path: /HTTP, apply: [{op: and, path: /url, apply: [{op: defined, path: /method}]}]}`: false,
	} {
		p, err := Compile(parseValue(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p(d); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}

func TestInvalidPredicates(t *testing.T) {
	for text, want := range map[string]string{
		`{op: equals, path: /a, value: 1}`:                       `op: "equals" is none of`,
		`{path: /a}`:                                             `op: "" is none of`,
		`{op: test, path: /a}`:                                   `value: is required`,
		`{op: test, path: [a], value: 1}`:                        `path: has the wrong type`,
		`{op: defined, path: /a, value: 1}`:                      `value: is no field of op defined`,
		`{op: less, path: /a, value: "1"}`:                       `value: must be a number`,
		`{op: starts, path: /a, value: 1}`:                       `value: must be a string`,
		`{op: less, path: /a, value: 1, ignore_case: true}`:      `ignore_case: is no field`,
		`{op: matches, path: /a, value: "("}`:                    `value: error parsing regexp`,
		`{op: matches, path: /a, value: "(?=a)"}`:                `value: error parsing regexp`,
		`{op: range, path: /a, value: [1]}`:                      `value: must be a list of two numbers`,
		`{op: range, path: /a, value: [1, "2"]}`:                 `value: must be a list of two numbers`,
		`{op: in, path: /a, value: 1}`:                           `value: must be a list`,
		`{op: within, path: /a, value: 10.0.0.1}`:                `value: must be a list of IP addresses`,
		`{op: within, path: /a, value: [10.0.0.1/33]}`:           `value: "10.0.0.1/33" is not an IP address`,
		`{op: type, path: /a, value: text}`:                      `value: "text" is no type`,
		`{op: and}`:                                              `apply: is required`,
		`{op: and, apply: [{op: test, path: /a, vale: 1}]}`:      `apply[0].vale: unknown field`,
		`{op: and, apply: ["*"]}`:                                `apply[0].a predicate must be an object`,
		`[1]`:                                                    `a predicate must be an object`,
		`{op: and, apply: [{op: not, apply: [{op: "starts"}]}]}`: `apply[0].apply[0].path: is required`,
	} {
		if _, err := Compile(parseValue(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %s", text, err, want)
		}
	}
}

// A rule costs a request no memory.
func TestMatchingDoesNotAllocate(t *testing.T) {
	d := metadata.Document(metadata.Tree{Root: parseValue(t, document)})
	p, err := Compile(parseValue(t, `{op: and, apply: [{op: starts, path: /HTTP/url/path, value: /a}, {op: test, path: /HTTP/method, value: GET}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { p(d) }); n != 0 {
		t.Errorf("an evaluation allocates %v times", n)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`{"op": "and", "apply": [{"op": "starts", "path": "/a", "value": "b"}]}`)
	f.Add(`{"op": "matches", "path": "/a", "value": "x*"}`)
	d := metadata.Tree{Root: parseValue(f, document)}
	f.Fuzz(func(_ *testing.T, text string) {
		v, err := config.ParseYAML([]byte(text))
		if err != nil {
			return
		}
		if p, err := Compile(v); err == nil {
			p(d)
		}
	})
}
