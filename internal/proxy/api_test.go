package proxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"anymesh.dev/anymesh/test/freeport"
)

const apiConfig = `
listeners:
- {name: ctl, spec: {protocol: HTTP, port: $API}, rules: [{action: {route: {destination: {spec: {protocol: L7mpController}}}}}]}
`

// client calls the API of a proxy.
type client struct {
	t   testing.TB
	url string
}

func startAPI(t testing.TB) client {
	t.Helper()
	return client{t, "http://" + start(t, apiConfig, "API")["API"] + "/api/v1/"}
}

// call returns the status and the body. The body of the request is YAML.
func (c client) call(method, path, body string) (int, string) {
	c.t.Helper()
	response, text := do(c.t, request(c.t, method, c.url+path, strings.NewReader(body), "Content-Type: text/x-yaml"))
	return response.StatusCode, text
}

// must fails the test if the answer is not OK.
func (c client) must(method, path, body string) {
	c.t.Helper()
	if status, text := c.call(method, path, body); status != 200 || text != `{"status":200,"message":"OK"}` {
		c.t.Fatalf("%s %s: got %d %s", method, path, status, text)
	}
}

// get returns an answer as JSON without white space.
func (c client) get(path string) string {
	c.t.Helper()
	status, text := c.call("GET", path, "")
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil || status != 200 {
		c.t.Fatalf("GET %s: got %d %s", path, status, text)
	}
	compact, _ := json.Marshal(v)
	return string(compact)
}

// Each class of objects is created, read, read with its parts, and removed.
func TestAPIObjects(t *testing.T) {
	c := startAPI(t)
	port := fmt.Sprint(freeport.Port(t))
	c.must("POST", "clusters", `cluster: {name: up, spec: {protocol: UDP, port: 9}, endpoints: [{name: e1, spec: {address: 127.0.0.1}, weight: 3}], loadbalancer: {policy: ConsistentHash, key: /labels/id}}`)
	c.must("POST", "clusters/up/endpoints", `endpoint: {name: /a/b, spec: {address: 127.0.0.2}}`)
	c.must("POST", "routes", `route: {name: r, destination: up, retry: {retry_on: always}}`)
	c.must("POST", "rules", `rule: {name: one, match: {op: more, path: /UDP/src_port, value: 1}, action: {rewrite: [{path: /labels/id, value: "7"}], route: r}}`)
	c.must("POST", "rulelists", `rulelist: {name: list, rules: [one, {name: two, action: {route: {destination: later}}}]}`)
	c.must("POST", "listeners", `listener: {name: in, spec: {protocol: UDP, port: `+port+`, address: 127.0.0.1}, rules: list, options: {track: 5}}`)
	for path, want := range map[string]string{
		"clusters/up":                          `{"endpoints":2,"loadbalancer":{"key":"/labels/id","policy":"HashRing"},"name":"up","spec":{"port":9,"protocol":"UDP"}}`,
		"clusters/up/endpoints":                `[{"name":"e1","spec":{"address":"127.0.0.1"},"weight":3},{"name":"/a/b","spec":{"address":"127.0.0.2"},"weight":1}]`,
		"endpoints/%2Fa%2Fb":                   `{"name":"/a/b","spec":{"address":"127.0.0.2"},"weight":1}`,
		"routes/r":                             `{"destination":"up","egress":[],"ingress":[],"name":"r","retry":{"num_retries":1,"retry_on":"always","timeout":2000}}`,
		"rules/one":                            `{"action":{"rewrite":[{"path":"/labels/id","value":"7"}],"route":"r"},"match":{"op":"more","path":"/UDP/src_port","value":1},"name":"one"}`,
		"rulelists/list":                       `{"name":"list","rules":["one","two"]}`,
		"rulelists":                            `"rules":["one","two"]`,
		"rulelists/list/rules/0":               `"name":"one"`,
		"listeners/in":                         `{"name":"in","options":{"track":5},"rules":"list","spec":{"address":"127.0.0.1","port":` + port + `,"protocol":"UDP"}}`,
		"listeners/in?recursive=true":          `"rules":[{"action":{"rewrite":[{"path":"/labels/id","value":"7"}],"route":{"destination":{"endpoints":[{"name":"e1"`,
		"listeners/in?recursive":               `"destination":"later:\u003cSTALE\u003e"`,
		"rules/two?recursive=true":             `"match":{"match":"*"}`,
		"sessions":                             `[]`,
		"admin":                                `"log_level":"info"`,
		"config":                               `"endpoints":[{"name":"e1"`,
		"clusters/up?recursive=true":           `"endpoints":[{"name":"e1"`,
		"clusters?recursive=true&format=terse": `"spec":{"address":"\u003cVIRTUAL\u003e"}`,
	} {
		if got := c.get(path); !strings.Contains(got, want) {
			t.Errorf("GET %s: got %s, want %s", path, got, want)
		}
	}
	c.must("DELETE", "listeners/in?recursive=true", "")
	c.must("DELETE", "rulelists/list?recursive=true", "")
	c.must("DELETE", "rules/one", "")
	c.must("DELETE", "rules/two?recursive=true", "")
	c.must("DELETE", "routes/r", "")
	c.must("DELETE", "endpoints/%2Fa%2Fb", "")
	c.must("DELETE", "clusters/up", "")
	for path, want := range map[string]string{"listeners": "ctl", "clusters": "ctl", "rulelists": "ctl", "rules": "ctl", "routes": "ctl"} {
		if got := c.get(path); strings.Count(got, `"name"`) != 1 || !strings.Contains(got, want) {
			t.Errorf("GET %s after the removal: %s", path, got)
		}
	}
}

// Rules are inserted and removed by position; an index wins over a name.
func TestAPIRulePositions(t *testing.T) {
	c := startAPI(t)
	c.must("POST", "rulelists", `rulelist: {name: l, rules: [a]}`)
	c.must("POST", "rulelists/l/rules/0", `rule: {name: "0", action: {apply: l}}`)
	c.must("POST", "rulelists/l/rules/2", `rule: c`)
	c.must("POST", "rulelists/l/rules/1", `rule: {action: {apply: l}}`)
	if got := c.get("rulelists/l"); got != `{"name":"l","rules":["0","l-Rule-2","a","c"]}` {
		t.Errorf("got %s", got)
	}
	c.must("DELETE", "rulelists/l/rules/a", "")
	c.must("DELETE", "rulelists/l/rules/1", "")
	c.must("DELETE", "rulelists/l/rules/0", "")
	if got := c.get("rulelists/l"); got != `{"name":"l","rules":["c"]}` {
		t.Errorf("got %s", got)
	}
	if got := c.get("rules/0"); !strings.Contains(got, `"0"`) {
		t.Errorf("the rule was removed with its position: %s", got)
	}
}

// Clients rely on the texts and statuses of errors.
func TestAPIErrors(t *testing.T) {
	c := startAPI(t)
	c.must("POST", "clusters", `cluster: {name: up, spec: {protocol: TCP, port: 9}, endpoints: [{name: e, spec: {address: 127.0.0.1}}]}`)
	c.must("POST", "rulelists", `rulelist: {name: l, rules: []}`)
	c.must("POST", "rules", `rule: {name: r, action: {route: x}}`)
	c.must("POST", "routes", `route: {name: r, destination: x}`)
	ctl := strings.TrimSuffix(strings.TrimPrefix(c.url, "http://127.0.0.1:"), "/api/v1/")
	for _, x := range []struct {
		method, path, body string
		status             int
		content            string
	}{
		{"POST", "listeners", `listener: {name: ctl, spec: {protocol: TCP, port: 1}, rules: l}`, 400, `Cannot add listener: Listener "ctl" already defined`},
		{"POST", "clusters", `cluster: {name: up, spec: {protocol: TCP}}`, 400, `Cannot add cluster: Cluster "up" already defined`},
		{"POST", "clusters/up/endpoints", `endpoint: {name: e, spec: {address: a}}`, 400, `EndPoint "e" already defined`},
		{"POST", "clusters/no/endpoints", `endpoint: {spec: {address: a}}`, 400, `Unknown cluster "no"`},
		{"POST", "clusters/up/endpoints", `endpoint: {name: x}`, 400, `Property spec is required`},
		{"POST", "clusters", `cluster: {name: x, spec: {protocol: TCP, port: 1}, endpoints: [{name: y}]}`, 400, `endpoints[0] "y".spec: is required`},
		{"POST", "rulelists", `rulelist: {name: l, rules: []}`, 400, `RuleList "l" already defined`},
		{"POST", "rules", `rule: {name: r, action: {route: x}}`, 400, `Rule "r" already defined`},
		{"POST", "rules", `rule: {action: {route: x}}`, 400, `Cannot add rule: Property name is required`},
		{"POST", "rules", `rule: {name: x, match: {op: starts}, action: {route: x}}`, 400, `Cannot add rule: match: path: is required`},
		{"POST", "routes", `route: {name: r, destination: x}`, 400, `Route "r" already defined`},
		{"POST", "routes", `route: {name: x}`, 400, `Property destination is required`},
		{"POST", "routes", `route: {name: x, destination: y, retry: {retry_on: sometimes}}`, 400, `retry.retry_on: "sometimes" is none of`},
		{"POST", "listeners", `listener: {name: x, spec: {protocol: TCP, port: ` + ctl + `, address: 127.0.0.1}, rules: l}`, 400, `address already in use`},
		{"POST", "listeners", `listener: {name: x, spec: {protocol: TCP, port: null}, rules: l}`, 400, `spec.port: must be an integer, is null`},
		{"POST", "listeners", `listener: {name: x, spec: {protocol: SCTP, port: 1}, rules: l}`, 400, `spec.protocol: "SCTP" is not supported`},
		{"POST", "listeners", `listener: {name: x, spec: {protocol: TCP, port: 1, connect: {port: 1}}, rules: l}`, 400, `spec.connect: is not supported with protocol TCP`},
		{"POST", "listeners", `listner: {}`, 400, `with the key`},
		{"POST", "listeners", `{`, 400, `Bad YAML`},
		{"POST", "rulelists/l/rules/5", `rule: r`, 400, `Cannot insert rule at position 5 into rulelist`},
		{"POST", "rulelists/l/rules/x", `rule: r`, 400, `Cannot insert rule at position x into rulelist`},
		{"POST", "rulelists/no/rules/0", `rule: r`, 400, `Unknown rulelist`},
		{"DELETE", "rulelists/l/rules/0", ``, 400, `Cannot delete rule: Unknown rule`},
		{"DELETE", "listeners/no", ``, 400, `Cannot delete listener: Unknown listener "no"`},
		{"DELETE", "clusters/no", ``, 400, `Cannot delete cluster: Unknown cluster "no"`},
		{"DELETE", "rules/no", ``, 400, `Cannot delete rule: Unknown rule "no"`},
		{"DELETE", "routes/no", ``, 400, `Cannot delete Route: Unknown Route "no"`},
		{"DELETE", "rulelists/no", ``, 400, `Cannot delete rulelist: Unknown rulelist "no"`},
		{"DELETE", "endpoints/no", ``, 400, `"content": "Not Found`},
		{"DELETE", "sessions/no", ``, 400, `No such session`},
		{"GET", "listeners/no", ``, 400, `"content": "Not Found"`},
		{"GET", "endpoints/no", ``, 400, `"content": "Not Found"`},
		{"GET", "endpoints", ``, 404, `Unknown API operation`},
		{"GET", "nothing", ``, 404, `Unknown API operation`},
		{"PATCH", "listeners", ``, 404, `Unknown API operation`},
		{"GET", "listeners?format=x", ``, 400, `format`},
		{"PUT", "clusters/no", `cluster: {spec: {protocol: TCP}}`, 400, `Cannot update cluster: Unknown cluster "no"`},
		{"PUT", "clusters/up", `cluster: {name: other, spec: {protocol: TCP}}`, 400, `the name is not that of the path`},
	} {
		status, text := c.call(x.method, x.path, x.body)
		var answer struct {
			Status  int
			Message string
			Content string
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != x.status || answer.Status != x.status ||
			!strings.Contains(`"content": "`+answer.Content+`"`, x.content) {
			t.Errorf("%s %s %s: got %d %s, want %d %s", x.method, x.path, x.body, status, text, x.status, x.content)
		}
	}
	response, text := do(t, request(t, "POST", c.url+"listeners", strings.NewReader("{}"), "Content-Type: text/plain"))
	if response.StatusCode != 415 {
		t.Errorf("text/plain: got %d %s", response.StatusCode, text)
	}
	response, text = do(t, request(t, "POST", c.url+"rules", strings.NewReader(`{"rule": {"name": "ä", "action": {"route": "x"}}}`), "Content-Type: application/json; charset=utf-8"))
	if response.StatusCode != 200 {
		t.Errorf("JSON with charset: got %d %s", response.StatusCode, text)
	}
}

// A refused object leaves nothing behind.
func TestAPIRefusedObjectsLeaveNothing(t *testing.T) {
	c := startAPI(t)
	before := c.get("config")
	for path, body := range map[string]string{
		"listeners": `listener: {name: x, spec: {protocol: TCP, port: 1, address: 127.0.0.1}, rules: [{name: ok, action: {route: {name: ok, destination: {name: ok, spec: {protocol: TCP, port: 1}}}}}, {match: {op: x}, action: {route: y}}]}`,
		"rulelists": `rulelist: {name: x, rules: [{name: ok, action: {route: {destination: {spec: {protocol: TCP, port: 1}}}}}, {name: ok, action: {route: y}}]}`,
		"routes":    `route: {name: x, destination: {name: ok, spec: {protocol: TCP, port: 1}}, ingress: [{name: ok, spec: {protocol: TCP, port: 1}}]}`,
		"config":    `clusters: [{name: a, spec: {protocol: TCP, port: 1}}, {name: a, spec: {protocol: TCP, port: 1}}]`,
	} {
		if status, text := c.call("POST", path, body); status != 400 {
			t.Errorf("POST %s: got %d %s", path, status, text)
		}
		if after := c.get("config"); after != before {
			t.Errorf("POST %s: left %s", path, after)
		}
	}
}

func TestAPIStrictMode(t *testing.T) {
	text := apiConfig + "admin: {strict: true}\n"
	c := client{t, "http://" + start(t, text, "API")["API"] + "/api/v1/"}
	status, answer := c.call("POST", "routes", `route: {name: x}`)
	if status != 422 || !strings.Contains(answer, "Unprocessable Entity: Input JSON schema validation failed") {
		t.Errorf("got %d %s", status, answer)
	}
}

// A body that comes after the head of its request changes nothing of the head.
func TestAPIBodyComesLater(t *testing.T) {
	c, err := net.Dial("tcp", start(t, apiConfig, "API")["API"])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	body := `{"route":{"name":"r","destination":"` + strings.Repeat("x", 500) + `"}}`
	_, _ = fmt.Fprintf(c, "POST /api/v1/routes HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/json\r\n"+
		"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	answers := bufio.NewReader(c)
	for _, want := range []int{http.StatusContinue, http.StatusOK} {
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(answer.Body); answer.StatusCode != want {
			t.Fatalf("got %d %s, want %d", answer.StatusCode, text, want)
		}
		_, _ = io.WriteString(c, body)
		body = ""
	}
}
