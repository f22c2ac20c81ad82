package gatewayapi

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

func TestServesHost(t *testing.T) {
	for _, c := range []struct {
		listener, host string
		want           bool
	}{
		{"", "a.example", true},
		{"a.example", "a.example", true},
		{"A.Example", "a.example", true},
		{"a.example", "b.example", false},
		{"*.example", "a.example", true},
		{"*.Example", "b.a.example", true},
		{"*.example", "example", false},
		{"*.example", ".example", false},
		{"*.example", "aexample", false},
	} {
		name := gatewayv1.Hostname(c.listener)
		if got := ServesHost(&name, c.host); got != c.want {
			t.Errorf("listener %q, host %q: got %v", c.listener, c.host, got)
		}
	}
	if !ServesHost(nil, "a.example") {
		t.Error("a listener without host name does not serve a host")
	}
}

func TestNamespaces(t *testing.T) {
	labelsOf := func(namespace string) (map[string]string, bool) {
		return map[string]string{"team": namespace}, namespace != "unknown"
	}
	for _, c := range []struct {
		from           string
		routes, sets   bool // of another namespace
		own, ownOfSets bool
	}{
		{``, false, false, true, false},
		{`{from: All}`, true, true, true, true},
		{`{from: Same}`, false, false, true, true},
		{`{from: None}`, false, false, false, false},
		{`{from: Selector, selector: {matchLabels: {team: b}}}`, true, true, false, false},
		{`{from: Selector}`, false, false, false, false},
		{`{from: Selector, selector: {matchExpressions: [{key: team, operator: Bad}]}}`, false, false, false, false},
	} {
		gateway := &gatewayv1.Gateway{}
		gateway.Namespace = "a"
		var allowed *gatewayv1.AllowedRoutes
		if c.from != "" {
			allowed = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{}}
			gateway.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{}}
			for _, into := range []any{allowed.Namespaces, gateway.Spec.AllowedListeners.Namespaces} {
				if err := yaml.UnmarshalStrict([]byte(c.from), into); err != nil {
					t.Fatal(err)
				}
			}
		}
		routes, sets := RouteNamespaces("a", allowed), SetNamespaces(gateway)
		if got := routes.Allow("b", labelsOf); got != c.routes {
			t.Errorf("%s: routes of another namespace: %v", c.from, got)
		}
		if got := sets.Allow("b", labelsOf); got != c.sets {
			t.Errorf("%s: ListenerSets of another namespace: %v", c.from, got)
		}
		if got := routes.Allow("a", labelsOf); got != c.own {
			t.Errorf("%s: routes of the own namespace: %v", c.from, got)
		}
		if got := sets.Allow("a", labelsOf); got != c.ownOfSets {
			t.Errorf("%s: ListenerSets of the own namespace: %v", c.from, got)
		}
	}
	from := gatewayv1.NamespacesFromSelector
	any := &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &from}}
	if err := yaml.UnmarshalStrict([]byte(`{selector: {}}`), any.Namespaces); err != nil {
		t.Fatal(err)
	}
	if RouteNamespaces("a", any).Allow("unknown", labelsOf) || !RouteNamespaces("a", any).Allow("b", labelsOf) {
		t.Error("an empty selector selects the namespaces that exist")
	}
}

func TestRouteKinds(t *testing.T) {
	for text, want := range map[string][2]bool{
		`{}`:                                     {true, false},
		`{kinds: [{kind: HTTPRoute}]}`:           {true, false},
		`{kinds: [{kind: GRPCRoute}]}`:           {false, true},
		`{kinds: [{group: a, kind: HTTPRoute}]}`: {false, true},
		`{kinds: [{group: gateway.networking.k8s.io, kind: HTTPRoute}, {kind: TLSRoute}]}`: {true, true},
	} {
		var allowed gatewayv1.AllowedRoutes
		if err := yaml.UnmarshalStrict([]byte(text), &allowed); err != nil {
			t.Fatal(err)
		}
		if routes, others := RouteKinds(&allowed); [2]bool{routes, others} != want {
			t.Errorf("%s: got %v, %v", text, routes, others)
		}
	}
}
