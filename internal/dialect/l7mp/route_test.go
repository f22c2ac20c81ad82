package l7mp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
)

// A route that is invalid in a part has a finding at this part, and other parts have effect unless traffic would pass
// beside something.
func TestInvalidRoutes(t *testing.T) {
	for _, c := range []struct {
		route, path, text string
		served            bool
	}{
		{`{destination: {spec: {TCP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "", "", true},
		{`{destination: {TCP: {port: 1}}}`, "destination.endpoints", "has no endpoint", false},
		{`{destination: {cluster: {spec: {protocol: TCP, port: 1}, endpoints: [{spec: {address: 192.0.2.1}}]}}}`, "", "", true},
		{`{destination: {spec: {TCP: {port: 70000}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "destination.spec.TCP.port", "not a port", false},
		{`{destination: {spec: {TCP: {port: 1, hops: 2}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "destination.spec.TCP.hops", "has no parameter", true},
		{`{destination: {spec: {SCTP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "destination.spec.SCTP", "not a protocol", false},
		{`{destination: {spec: {TCP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}], loadBalancer: {}}}`, "destination", "loadBalancer", true},
		{`{destination: {spec: {TCP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1, port: 9}}]}}`, "destination.endpoints[0].spec.port", "no effect", true},
		{`{destination: {spec: {TCP: {port: 1}}, endpoints: 7}}`, "destination.endpoints", "JSON number", false},
		{`{destination: {spec: {UDP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "", "", true},
		{`{destination: {spec: {HTTP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "destination", "conversion", false},
		{`{destination: {spec: {Echo: {}}}}`, "", "", true},
		{`{destination: {spec: {Echo: {}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "destination.endpoints", "the proxy itself", true},
		{`{destination: {spec: {Echo: {}}, loadbalancer: {policy: RoundRobin}}}`, "destination.loadbalancer", "the proxy itself", true},
		{`{destination: {spec: {Sync: {query: /labels/call}}}}`, "", "", true},
		{`{destination: {spec: {Sync: {}}}}`, "destination.spec.Sync.query", "must be a pointer", false},
		{`{destination: {spec: {Stdio: {}}}}`, "destination.spec.Stdio", "no terminal", false},
		{`{destination: {spec: {JSONSocket: {transport: {UDP: {port: 1}}, header: [{path: {from: /labels}}, {set: {key: /a, value: 1}}]}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "", "", true},
		{`{destination: {spec: {JSONSocket: {}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "destination.spec.JSONSocket", "transport is missing", false},
		{`{destination: {spec: {JSONSocket: {transport: {HTTP: {port: 1}}}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "destination.spec.JSONSocket.transport", "must be WebSocket", false},
		{`{destination: {spec: {JSONSocket: {transport: {TCP: {port: 1}}, header: [{}]}}, endpoints: [{spec: {address: 192.0.2.1}}]}}`, "destination.spec.JSONSocket.header[0]", "one of path and set", false},
		{`{}`, "destination", "needs one destination", false},
		{`{destination: a, cluster: b}`, "destination", "needs one destination", false},
		{`{destination: {spec: {TCP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}, ingress: ["a/b"]}`, "ingress[0]", "neither the name", false},
		{`{destination: {spec: {TCP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}, ingress: [{spec: {Logger: {log_prefix: a}}}, {spec: {Metric: {}}}]}`, "", "", true},
		{`{destination: {spec: {TCP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}, ingress: [{spec: {L7mpController: {}}}]}`, "ingress[0].spec.L7mpController", "no API", false},
		{`{destination: {spec: {TCP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}, retry: {retry_on: sometimes}}`, "retry.retry_on", "sometimes", true},
	} {
		m, objects := newMesh()
		for _, o := range decode(t, strings.Replace(fmt.Sprintf(caller, "users"), "{destination: users}", c.route, 1)) {
			objects.Set(cached(t, o))
		}
		m.run()
		targets := m.mesh.Snapshot().Routers[0].Routes[0].Action.Destinations
		if served := len(targets) == 1; served != c.served {
			t.Errorf("%s: served is %v", c.route, served)
		}
		found := m.mesh.AllFindings()
		at := "spec.listener.rules[0].action.route." + c.path
		has := slices.ContainsFunc(found, func(f model.Finding) bool {
			return f.Path == at && strings.Contains(f.Text, c.text)
		})
		if c.path == "" && len(found) > 0 || c.path != "" && !has {
			t.Errorf("%s: got findings %v", c.route, found)
		}
	}
}

// Retries have a default each.
func TestRetries(t *testing.T) {
	for text, want := range map[string]model.Retry{
		`{}`:                {},
		`{retry_on: never}`: {},
		`{retry_on: connect-failure}`: {
			Retries: 1, Conditions: []model.RetryCondition{model.RetryConnectFailure},
		},
		`{retry_on: always, num_retries: 3, timeout: 500}`: {
			Retries: 3, Pause: model.Duration(500 * time.Millisecond),
			Conditions: []model.RetryCondition{model.RetryConnectFailure, model.RetryDisconnect},
		},
	} {
		m, objects := newMesh()
		route := "{destination: users, retry: " + text + "}"
		for _, o := range decode(t, meanings+"---\n"+strings.Replace(fmt.Sprintf(caller, "users"), "{destination: users}", route, 1)) {
			objects.Set(cached(t, o))
		}
		m.run()
		if got := m.mesh.Snapshot().Routers[0].Routes[0].Action.Retry; model.Hash(&got) != model.Hash(&want) {
			t.Errorf("%s: got %+v", text, got)
		}
	}
}
