package pipy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// rulesMain is a program that writes, for each case of cases.json, the canonical path and whether the rule matches.
const rulesMain = `((
	routes = pipy.solve('routes.js'), cases = JSON.decode(pipy.load('cases.json'))
) => pipy().task().onStart(() => (
	cases.map(c => ((request) => console.log('result', JSON.stringify({
		path: request ? request.target : '', matches: !!request && !!routes.rule([c.rule], request, { names: [] }),
	})))(routes.request(c.head))), pipy.exit(), new StreamEnd
)))()`

// ruleCase is a rule and the head of a request.
type ruleCase struct {
	Rule RouteRule      `json:"rule"`
	Head map[string]any `json:"head"`
}

// runScripts runs cases with the program pipy, and returns the lines that it writes.
func runScripts(t *testing.T, cases []ruleCase) []string {
	t.Helper()
	program, err := exec.LookPath(cmp.Or(os.Getenv("PIPY"), Name))
	if err != nil {
		t.Skipf("there is no program of pipy; set PIPY: %v", err)
	}
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range ScriptNames() {
		text, _ := Script(name)
		write(name, text)
	}
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	write("cases.json", text)
	write("rules.js", []byte(rulesMain))
	out, err := exec.CommandContext(t.Context(), program, "--no-graph", "--admin-port-off",
		filepath.Join(dir, "rules.js")).CombinedOutput()
	var lines []string
	for line := range strings.Lines(string(out)) {
		if _, result, is := strings.Cut(line, " result "); is {
			lines = append(lines, strings.TrimSpace(result))
		}
	}
	if len(lines) != len(cases) {
		t.Fatalf("%d results of %d cases (%v):\n%s", len(lines), len(cases), err, out)
	}
	return lines
}

// TestRulesMatchAsTheModel compares the scripts, on the real program, with the model: random matches, and requests
// whose paths have many spellings.
func TestRulesMatchAsTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var cases []ruleCase
	var want []string
	for len(cases) < 4000 {
		value := pick("/a", "/a/", "/", "/a/b", "a", "A", "", "/a%2Fb", "/%41")
		match := model.Match{
			Method: pick("", "", "GET"),
			Path: model.StringMatch{
				Kind: model.MatchKind(pick("", "Exact", "Prefix", "PathPrefix", "Suffix", "Regex")), Value: value,
			},
			Headers: []model.FieldMatch{{
				Name: pick("x", "Host", ":path", ":method", ":authority"), Value: value, Invert: r.IntN(2) == 0,
				Kind: model.MatchKind(pick("Exact", "Prefix", "Suffix", "Regex", "Present")),
			}}[:r.IntN(2)],
		}
		rule, ok := ruleOf(match)
		if !ok {
			continue
		}
		path := "/"
		for range r.IntN(6) {
			path += pick("a", "b", "/", ".", "..", "%2e", "%2F", "%00", "%", "\\", ";", "?", "~", "A", "%41", "{", " ", "#",
				"\"")
		}
		request := model.Request{
			Protocol: model.HTTP, Port: 80, Method: pick("GET", "POST"), Path: path, Scheme: "http",
			Host: pick("a", "A", "a.", "a.:80", "/a"),
		}
		headers := map[string]string{"host": request.Host}
		if r.IntN(2) == 0 {
			headers["x"] = pick("/a", "a", "", "/a/b")
			request.Headers = []model.Header{{Name: "x", Value: headers["x"]}}
		}
		cases = append(cases, ruleCase{rule, map[string]any{"method": request.Method, "path": path, "headers": headers}})
		v := &model.View{Inbound: []model.Inbound{{Listener: model.Listener{Port: 80, Protocol: model.HTTP}}}}
		d := v.DecideInbound(request)
		if d.Outcome == model.Malformed {
			want = append(want, `{"path":"","matches":false}`)
			continue
		}
		text, _ := json.Marshal(d.Request.Path)
		want = append(want, fmt.Sprintf(`{"path":%s,"matches":%v}`, text, match.Matches(d.Request)))
	}
	wrong := 0
	for i, have := range runScripts(t, cases) {
		var a, b any
		if json.Unmarshal([]byte(have), &a) != nil || json.Unmarshal([]byte(want[i]), &b) != nil ||
			fmt.Sprint(a) != fmt.Sprint(b) {
			if wrong++; wrong < 8 {
				t.Errorf("rule %+v, request %v: got %s, want %s", cases[i].Rule, cases[i].Head, have, want[i])
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d cases differ", wrong, len(cases))
	}
}
