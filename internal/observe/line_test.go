package observe

import (
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"anymesh.dev/anymesh/model"
)

func TestParseLines(t *testing.T) {
	first := netip.MustParseAddr("198.18.0.1")
	http := func(r model.Request) model.Request {
		r.Port, r.Address, r.Protocol, r.Scheme = 8080, first, model.HTTP, "http"
		return r
	}
	for text, want := range map[string]Line{
		"from front: GET http://color.ns:8080/a//b?x=/y a:1 A:2 => red 3, blue 1": {
			Workload: "front", Want: Expectation{target: "red 3, blue 1"},
			Request: http(model.Request{
				Host: "color.ns:8080", Method: "GET", Path: "/a//b?x=/y",
				Headers: []model.Header{{Name: "a", Value: "1"}, {Name: "A", Value: "2"}},
			}),
		},
		"into front: PUT http://color:8080/ Host:other => application; path /x; 2 tries; response 503 # why": {
			Into: true, Workload: "front",
			Want:    Expectation{target: application, forwardedPath: "/x", tries: "2", responseStatus: "503"},
			Request: http(model.Request{Host: "other", Method: "PUT", Path: "/"}),
		},
		"from front: GET http://color:8080/ (503 reset 2s 1s+20ms 200+1s+2s) => red": {
			Workload: "front", Want: Expectation{target: "red"},
			Request: http(model.Request{Host: "color:8080", Method: "GET", Path: "/"}),
			Responses: []Response{
				{Status: "503"}, {Reset: true}, {After: 2 * time.Second},
				{After: time.Second, Pauses: []time.Duration{20 * time.Millisecond}},
				{Status: "200", Pauses: []time.Duration{time.Second, 2 * time.Second}},
			},
		},
		"from front: http2 GET https://color/ => 404": {
			Workload: "front", Want: Expectation{target: notFound},
			Request: model.Request{
				Port: 80, Address: first, Protocol: model.HTTP2, Host: "color", Method: "GET", Path: "/",
				Scheme: "https",
			},
		},
		"from front: grpc http://color:8080/a.B/C (unavailable ok) => red; route r; timeout 2s; idle 1m0s": {
			Workload: "front", Want: Expectation{target: "red", route: "r", timeout: "2s", idle: "1m0s"},
			Request: model.Request{
				Port: 8080, Address: first, Protocol: model.GRPC, Host: "color:8080", Method: "POST", Path: "/a.B/C",
				Scheme: "http",
			},
			Responses: []Response{{Status: "unavailable"}, {Status: "ok"}},
		},
		"from front: tcp db:5432 => refused": {
			Workload: "front", Want: Expectation{target: refused},
			Request: model.Request{Port: 5432, Address: first, Protocol: model.TCP},
		},
		"from front: tls api.example.com:443 => passthrough": {
			Workload: "front", Want: Expectation{target: passthrough}, Resolved: netip.MustParseAddr("198.19.0.1"),
			Request: model.Request{Port: 443, Address: first, Protocol: model.TCP, ServerName: "api.example.com"},
		},
		"from front: tls unresolved.example.com:443 => refused": {
			Workload: "front", Want: Expectation{target: refused},
			Request: model.Request{Port: 443, Address: first, Protocol: model.TCP, ServerName: "unresolved.example.com"},
		},
		"from front: tcp 198.18.7.7:22 => passthrough": {
			Workload: "front", Want: Expectation{target: passthrough},
			Request: model.Request{Port: 22, Address: netip.MustParseAddr("198.18.7.7"), Protocol: model.TCP},
		},
	} {
		t.Run(text, func(t *testing.T) {
			want.Number = 2
			have, err := parseLines("# comment\n" + text + "\n")
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff([]Line{want}, have, cmpopts.EquateComparable(netip.Addr{}),
				cmpopts.IgnoreFields(Line{}, "Host")); diff != "" {
				t.Errorf("(-want +have):\n%s", diff)
			}
		})
	}
}

func TestParseInvalidLines(t *testing.T) {
	for _, text := range []string{
		"from front GET http://a:80/ => x", "to front: GET http://a:80/ => x", "from front: GET http://a:80/",
		"from front: GET => x",
		"from front: GET http://a:port/ => x", "from front: GET http://a:80/ header => x",
		"from front: GET http://a:80/ (soon) => x",
		"from front: GET http://a:80/ (200+soon) => x", "from front: GET http://a:80/ (reset+1s) => x",
		"from front: GET http://a:80/ => x; sometimes", "from front: tcp a:99999 => x",
	} {
		if have, err := parseLines(text); err == nil {
			t.Errorf("%s: parsed as %+v", text, have)
		} else if !strings.HasPrefix(err.Error(), "line 1: ") {
			t.Errorf("%s: the error %q has no line number", text, err)
		}
	}
}

func TestPredict(t *testing.T) {
	forwarded := model.Decision{
		Outcome:  model.Forwarded,
		Timeouts: model.Timeouts{Request: model.Duration(20 * time.Second), Idle: model.Duration(7 * time.Second)},
		Retry: model.Retry{
			Retries: 2, PerTry: model.Duration(2 * time.Second),
			Conditions:  []model.RetryCondition{model.RetryReset, model.RetryGRPCUnavailable},
			StatusCodes: []uint16{503},
		},
	}
	for script, want := range map[string]end{
		"":                     {1, "200", false, 0},
		"503 200":              {2, "200", false, 0},
		"503":                  {3, "503", false, 0},
		"500 200":              {1, "500", false, 0},
		"reset reset 200":      {3, "200", false, 0},
		"reset":                {3, "503", true, 0},
		"3s 200":               {2, "200", false, 2 * time.Second},
		"3s":                   {3, "504", true, 6 * time.Second},
		"1s":                   {1, "200", false, time.Second},
		"unavailable internal": {2, "internal", false, 0},
		"unavailable ok":       {2, "ok", false, 0},
		"1s+3s":                {1, "200", false, 4 * time.Second}, // the per-try timeout ends with the response headers
		"3s 200+3s":            {2, "200", false, 5 * time.Second},
		"1s+6s+6s+6s+6s":       {1, broken, false, 20 * time.Second}, // exceeds the request timeout
		"1s+2s+8s":             {1, broken, false, 10 * time.Second}, // exceeds the idle timeout
	} {
		t.Run(script, func(t *testing.T) {
			answers, err := parseResponses(script)
			if err != nil {
				t.Fatal(err)
			}
			l := Line{Request: model.Request{Protocol: model.HTTP}, Responses: answers}
			if strings.Contains(script, "unavailable") {
				l.Request.Protocol = model.GRPC
			}
			if have := predict(forwarded, l); have != want {
				t.Errorf("got %+v, want %+v", have, want)
			}
		})
	}
	late := func(request, idle time.Duration) end {
		d := model.Decision{
			Outcome:  model.Forwarded,
			Timeouts: model.Timeouts{Request: model.Duration(request), Idle: model.Duration(idle)},
		}
		return predict(d,
			Line{Request: model.Request{Protocol: model.HTTP}, Responses: []Response{{After: 3 * time.Second}}})
	}
	for _, c := range []struct{ request, idle time.Duration }{{1, 0}, {0, 1}, {1, 2}, {2, 1}} {
		if have := late(c.request*time.Second, c.idle*time.Second); have != (end{1, "504", true, time.Second}) {
			t.Errorf("delayed response, %+v: %+v", c, have)
		}
	}
	if have := late(0, 0); have != (end{1, "200", false, 3 * time.Second}) {
		t.Errorf("without limits: %+v", have)
	}
}

func TestShares(t *testing.T) {
	targets := []model.WeightedDestination{{Destination: "red", Weight: 3}, {Destination: "blue", Weight: 1}}
	for _, c := range []struct {
		why   string
		count map[string]int
		good  bool
	}{
		{"exact", map[string]int{"red": 300, "blue": 100}, true},
		{"random deviation", map[string]int{"red": 320, "blue": 80}, true},
		{"equal shares", map[string]int{"red": 200, "blue": 200}, false},
		{"missing destination", map[string]int{"red": 400}, false},
		{"unknown destination", map[string]int{"red": 299, "blue": 100, "green": 1}, false},
	} {
		t.Run(c.why, func(t *testing.T) {
			if wrong := shares(targets, maps.Clone(c.count), 400); (len(wrong) == 0) != c.good {
				t.Errorf("%v", wrong)
			}
		})
	}
}

// TestCompare checks that each difference between an observation and a decision is reported.
func TestCompare(t *testing.T) {
	l := Line{Request: model.Request{Protocol: model.HTTP, Port: 80, Address: netip.MustParseAddr("198.18.0.1")}}
	d := model.Decision{
		Outcome: model.Forwarded, Targets: []model.WeightedDestination{{Destination: "red", Weight: 1}},
		Request: model.Request{Host: "color", Path: "/", Method: "GET"},
	}
	good := Observation{
		Received: Received{Server: "red", Host: "color", Path: "/", Method: "GET", At: "10.200.0.1:80"}, Status: "200",
	}
	if wrong := l.compare(d, good, 1); len(wrong) > 0 {
		t.Errorf("equal: %v", wrong)
	}
	for why, change := range map[string]func(*Observation){
		"different destination": func(s *Observation) { s.Server = "blue" },
		"external server":       func(s *Observation) { s.Server = externalServer },
		"application":           func(s *Observation) { s.Server = application },
		"local response":        func(s *Observation) { s.Received = Received{}; s.Status = "404" },
		"refused":               func(s *Observation) { *s = Observation{Refused: true} },
		"different path":        func(s *Observation) { s.Path = "/x" },
		"different host":        func(s *Observation) { s.Host = "x" },
		"different method":      func(s *Observation) { s.Method = "PUT" },
		"different status":      func(s *Observation) { s.Status = "503" },
	} {
		t.Run(why, func(t *testing.T) {
			seen := good
			change(&seen)
			if len(l.compare(d, seen, 1)) == 0 {
				t.Error("no difference reported")
			}
		})
	}
	if len(l.compare(d, good, 2)) == 0 {
		t.Error("two tries: no difference reported")
	}
	l.Responses = []Response{{After: time.Second}}
	if len(l.compare(d, good, 1)) == 0 {
		t.Error("early response: no difference reported")
	}
	good.Duration = time.Second
	if wrong := l.compare(d, good, 1); len(wrong) > 0 {
		t.Errorf("response after the delay: %v", wrong)
	}
	d.Outcome, d.Targets = model.PassedThrough, nil
	good.Server = externalServer
	if len(l.compare(d, good, 1)) == 0 {
		t.Error("passthrough to a different address: no difference reported")
	}
	good.At = "198.18.0.1:80"
	if wrong := l.compare(d, good, 1); len(wrong) > 0 {
		t.Errorf("passthrough: %v", wrong)
	}
}
