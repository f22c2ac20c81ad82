package aggregate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/fleet"
)

var widgets = schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "widgets"}

// widgetView has a custom resource in two clusters. The first one does not answer.
func widgetView(t *testing.T, handler http.HandlerFunc) *view {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := &fleet.Endpoint{URL: at, Transport: http.DefaultTransport}
	return &view{
		members: []fleet.Member{{Name: "away"}, {Name: "east", Ready: true, Reader: endpoint}},
		selected: selected{kinds: map[schema.GroupVersionResource]*registered{widgets: {kind: cache.Kind{
			Resource: widgets, Kind: "Widget", Scopes: []cache.Scope{{Cluster: "away"}, {Cluster: "east"}},
		}}}},
	}
}

// Columns and selectable fields of custom resources are those of the definition in a member cluster, and stay while no
// cluster answers.
func TestCustomResourcesHaveTheirColumns(t *testing.T) {
	crd := apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1beta1"}, {
			Name:             "v1",
			SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.color"}},
			AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
				{Name: "Color", Type: "string", JSONPath: ".spec.color"},
				{Name: "Size", Type: "integer", JSONPath: ".spec.size", Priority: 1},
			},
		}},
	}}
	first := widgetView(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org" {
			http.NotFound(w, r)
			return
		}
		if err := json.NewEncoder(w).Encode(crd); err != nil {
			t.Error(err)
		}
	})
	define(t.Context(), first, &view{})
	second := widgetView(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusBadGateway) })
	define(t.Context(), second, first)
	for name, v := range map[string]*view{"answer": first, "no answer": second} {
		k := v.selected.kinds[widgets]
		if !slices.Equal(k.kind.SelectableFields, []string{".spec.color"}) {
			t.Errorf("%s: selectable fields %q", name, k.kind.SelectableFields)
		}
		p := printerOf(k)
		var columns []string
		for _, c := range p.columns {
			columns = append(columns, c.Name)
		}
		cells, err := p.cells([]byte(`{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"},` +
			`"spec":{"color":"red","size":3}}`))
		if err != nil || !slices.Equal(columns, []string{"Name", "Color", "Size"}) ||
			!slices.Equal(cells, []any{"w", "red", int64(3)}) {
			t.Errorf("%s: columns %q, cells %v, error %v", name, columns, cells, err)
		}
	}
}
