package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/trait/builtin"
	"anymesh.dev/anymesh/internal/trait/contour"
	"anymesh.dev/anymesh/internal/trait/gateway"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/providertest"
)

// exampleOfGateway matches the Gateway of the page.
var exampleOfGateway = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestPageOfRouteProviders checks the page's table of fields: each provider renders a rule with the field, and lists it as
// unsupported where the page says no. The Gateway of the page allows Routes with TLS.
func TestPageOfRouteProviders(t *testing.T) {
	text, err := os.ReadFile("route-providers.md")
	if err != nil {
		t.Fatal(err)
	}
	cluster := &providertest.Cluster{
		Kinds: []schema.GroupVersionKind{contour.Kind, gateway.HTTPRouteKind, gateway.ListenerSetKind},
	}
	example := exampleOfGateway.FindSubmatch(text)
	if example == nil {
		t.Fatal("the page has no Gateway")
	}
	service := "{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: sorry}, spec: {ports: [{port: 80}]}}\n---\n"
	if err := cluster.Parse(append([]byte(service), example[1]...)); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| field of a rule |")
	lines := strings.Split(table, "\n")
	var columns []provider.Provider
	for name := range strings.SplitSeq(strings.Trim(lines[0], " |"), " | ") {
		for _, p := range builtin.Providers() {
			if p.Names()[0] == name {
				columns = append(columns, p)
			}
		}
	}
	if len(columns) != len(builtin.Providers()) {
		t.Fatalf("the table has the columns %s", lines[0])
	}
	fields := map[string]func(*provider.Rule){
		"rewriteTarget":       func(r *provider.Rule) { r.RewriteTarget = "/x" },
		"customHeaders":       func(r *provider.Rule) { r.Headers = []provider.Header{{Name: "A", Value: "b"}} },
		"backend.readTimeout": func(r *provider.Rule) { r.ReadTimeout = time.Second },
		"backend.sendTimeout": func(r *provider.Rule) { r.SendTimeout = time.Second },
		"defaultBackend":      func(r *provider.Rule) { r.Default = &provider.ObjectRef{Kind: "Service", Name: "sorry"} },
	}
	for _, line := range lines[2 : 2+len(fields)] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		name := strings.Trim(cells[0], "`")
		set, ok := fields[name]
		if !ok || len(cells) != len(columns)+1 {
			t.Fatalf("the row %q is of no field", line)
		}
		delete(fields, name)
		for i, p := range columns {
			rule := provider.Rule{Name: "0", Path: "/a", Field: "spec.rules[0]", Backend: provider.Backend{Service: "web", Port: 80}}
			set(&rule)
			result := p.Render(provider.Route{Namespace: "shop", Name: "web", Host: "shop.example.com",
				TLS: &provider.TLS{Secret: "web-cert"}, Rules: []provider.Rule{rule}}, cluster)
			if result.Waiting != nil || len(result.Objects) == 0 {
				t.Fatalf("%s: %s: %+v", name, p.Names()[0], result.Waiting)
			}
			supported := len(result.Unsupported) == 0
			if supported != strings.HasPrefix(cells[i+1], "yes") || supported == strings.HasPrefix(cells[i+1], "no") {
				t.Errorf("%s: the page says of %s %q, but unsupported is %v", name, p.Names()[0], cells[i+1], result.Unsupported)
			}
		}
	}
}
