package http1

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func parse(text string) (*Request, int, error) {
	r := new(Request)
	size, err := r.Parse([]byte(text), 0, DefaultLimits)
	return r, size, err
}

func TestRequests(t *testing.T) {
	r, size, err := parse("POST /a%20b/c.d?x=../y HTTP/1.1\r\nHost: example.com:80\r\nContent-Length: 3\r\nX-A:  v \t\r\nConnection: x-a , keep-alive\r\n\r\nabc")
	if err != nil || size == 0 {
		t.Fatal(size, err)
	}
	if string(r.Method) != "POST" || string(r.Target) != "/a%20b/c.d?x=../y" || string(r.Host) != "example.com:80" ||
		r.Length != 3 || r.Chunked || r.Close || r.Minor != 1 {
		t.Errorf("got %+v", r)
	}
	if value, has := r.Get("x-a"); !has || string(value) != "v" || !r.Fields[2].Hop || !r.Fields[3].Hop || r.Fields[1].Hop {
		t.Errorf("fields: %v", r.Fields)
	}
}

// A head in pieces is parsed when it is complete.
func TestIncompleteRequests(t *testing.T) {
	const text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	r := new(Request)
	for i := range len(text) {
		if size, err := r.Parse([]byte(text[:i]), max(0, i-1), DefaultLimits); size != 0 || err != nil {
			t.Fatalf("%q: got %d, %v", text[:i], size, err)
		}
	}
	if size, err := r.Parse([]byte(text+"GET"), len(text)-1, DefaultLimits); size != len(text) || err != nil {
		t.Errorf("got %d, %v", size, err)
	}
}

// refused are requests that other servers may read in another way, or that are invalid. LF is a lone line feed.
var refused = map[string]int{
	// Two ways to frame the body.
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc":                400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc":                                  400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 400,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n": 400,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n": 400,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n":                              501,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n":                     501,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n":                     501,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n":                         501,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n":                           400,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n":                              501,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n":                                       501,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n":                              400,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n":                             400,
	"POST / HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n":                              400,
	"POST / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tTransfer-Encoding: chunked\r\n\r\n":                     400,
	"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\nContent-Length: 1\r\n\r\n":            400,
	"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n":                                          400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc":                                    400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\nabc":                                    400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc":                                   400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3 3\r\n\r\nabc":                                   400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nabc":                                       400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nabc":                  400,
	"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: content-length\r\n\r\nabc":       400,
	"GET / HTTP/1.1\r\nHost: a\r\nConnection: close, transfer-encoding\r\n\r\n":                      400,
	"GET / HTTP/1.1\r\nHost: a\r\nConnection: host\r\n\r\n":                                          400,
	// Ends of lines, and control characters.
	"GET / HTTP/1.1\nHost: a\n\n":                    400,
	"GET / HTTP/1.1\r\nHost: a\n\r\n":                400,
	"GET / HTTP/1.1\r\nHost: a\r\r\n\r\n":            400,
	"GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n":   400,
	"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n": 400,
	"GET / HTTP/1.1\r\nHost: a\r\nX: a\x7fb\r\n\r\n": 400,
	"GET / HTTP/1.1\r\nHost: a\r\nX\x00: b\r\n\r\n":  400,
	"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n":       400,
	"GET / HTTP/1.1\r\nHost: a\r\nnocolon\r\n\r\n":   400,
	"GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n":    400,
	"GET / HTTP/1.1\r\nHost: a\r\n\"X\": b\r\n\r\n":  400,
	"GET / HTTP/1.1\r\n Host: a\r\n\r\n":             400,
	"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n":          400,
	"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n":            400,
	// The host.
	"GET / HTTP/1.1\r\n\r\n":                       400,
	"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n": 400,
	"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n": 400,
	"GET / HTTP/1.1\r\nHost: a b\r\n\r\n":          400,
	"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n":          400,
	"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n":          400,
	"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n":    400,
	"GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n":  400,
	"GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n":   400,
	"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n":     400,
	// The request line.
	"GET  / HTTP/1.1\r\nHost: a\r\n\r\n":             400,
	"GET /  HTTP/1.1\r\nHost: a\r\n\r\n":             400,
	"GET / HTTP/1.1 \r\nHost: a\r\n\r\n":             400,
	"GET /\r\nHost: a\r\n\r\n":                       400,
	"GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n":            400,
	" GET / HTTP/1.1\r\nHost: a\r\n\r\n":             400,
	"G(T / HTTP/1.1\r\nHost: a\r\n\r\n":              400,
	"GET / http/1.1\r\nHost: a\r\n\r\n":              400,
	"GET / HTTP/1.2\r\nHost: a\r\n\r\n":              505,
	"GET / HTTP/2.0\r\nHost: a\r\n\r\n":              505,
	"GET / HTTP/01.1\r\nHost: a\r\n\r\n":             400,
	"GET a HTTP/1.1\r\nHost: a\r\n\r\n":              400,
	"GET * HTTP/1.1\r\nHost: a\r\n\r\n":              400,
	"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n":    501,
	"PRI * HTTP/2.0\r\n\r\n":                         505,
	"GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n":          400,
	"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n":           400,
	"GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n":          400,
	"GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n": 417,
	// Paths that mean another path to some servers.
	"GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n":     400,
	"GET /.. HTTP/1.1\r\nHost: a\r\n\r\n":         400,
	"GET /a/. HTTP/1.1\r\nHost: a\r\n\r\n":        400,
	"GET /a/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n": 400,
	"GET /a/.%2E HTTP/1.1\r\nHost: a\r\n\r\n":     400,
	"GET /a/..%2fb HTTP/1.1\r\nHost: a\r\n\r\n":   400,
	"GET /a/..;/b HTTP/1.1\r\nHost: a\r\n\r\n":    400,
	"GET /a/..;x=y/b HTTP/1.1\r\nHost: a\r\n\r\n": 400,
	"GET /a%5c..%5cb HTTP/1.1\r\nHost: a\r\n\r\n": 400,
	"GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n":      400,
	"GET /a%0d%0ab HTTP/1.1\r\nHost: a\r\n\r\n":   400,
	"GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n":       400,
	"GET /a% HTTP/1.1\r\nHost: a\r\n\r\n":         400,
}

func TestRefusedRequests(t *testing.T) {
	for text, want := range refused {
		_, size, err := parse(text)
		var e *Error
		if !errors.As(err, &e) || e.Status != want {
			t.Errorf("%q: got size %d, error %v, want status %d", text, size, err, want)
		}
	}
}

// Unusual requests that mean one thing are accepted.
func TestAcceptedRequests(t *testing.T) {
	for _, text := range []string{
		"GET / HTTP/1.0\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://A.example/x?y HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"GET //a//b HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /...a/b..c/%2Fd HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
		"GET /;x=. HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /?a=/../ HTTP/1.1\r\nHost: a\r\n\r\n",
		"M-SEARCH / HTTP/1.1\r\nHost:\r\nX:\r\nY: \xc3\xa4\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n",
	} {
		if _, size, err := parse(text); size != len(text) || err != nil {
			t.Errorf("%q: got size %d, error %v", text, size, err)
		}
	}
}

func TestHeadLimits(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"size":       {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", DefaultLimits.Head) + "\r\n\r\n", 431},
		"unfinished": {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", DefaultLimits.Head), 431},
		"fields":     {"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", DefaultLimits.Fields) + "\r\n", 431},
	} {
		var e *Error
		if _, _, err := parse(c.text); !errors.As(err, &e) || e.Status != c.want {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

// What is accepted and written again is the same request: nothing is repaired.
func FuzzRequest(f *testing.F) {
	for text := range refused {
		f.Add([]byte(text))
	}
	f.Add([]byte("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Request
		size, err := r.Parse(data, 0, DefaultLimits)
		if err != nil || size == 0 {
			return
		}
		text := fmt.Sprintf("%s %s HTTP/1.%d\r\n", r.Method, r.Target, r.Minor)
		for _, field := range r.Fields {
			text += fmt.Sprintf("%s: %s\r\n", field.Name, field.Value)
		}
		again, size, err := parse(text + "\r\n")
		if err != nil || size != len(text)+2 {
			t.Fatalf("%q became %q: %v", data, text, err)
		}
		if string(again.Method) != string(r.Method) || string(again.Target) != string(r.Target) || again.Length != r.Length ||
			again.Chunked != r.Chunked || again.Close != r.Close || string(again.Host) != string(r.Host) {
			t.Errorf("%q became %q", data, text)
		}
	})
}
