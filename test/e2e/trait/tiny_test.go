package trait

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/oam"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/route"
)

var configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// tiny is a provider with one ConfigMap a rule. The host is served when the ConfigMap has the annotation served.
type tiny struct{ name string }

func (p tiny) Names() []string                 { return []string{p.name} }
func (tiny) Writes() []schema.GroupVersionKind { return []schema.GroupVersionKind{configMap} }
func (tiny) Reads() []schema.GroupVersionKind  { return nil }
func (tiny) Present(provider.Reader) bool      { return false }
func (p tiny) object(r provider.Route, rule provider.Rule) string {
	return r.Name + "-" + rule.Name + "-" + p.name
}

func (p tiny) Render(r provider.Route, _ provider.Reader) provider.Result {
	var out provider.Result
	for _, rule := range r.Rules {
		data := map[string]any{"host": r.Host, "path": rule.Path, "service": rule.Backend.Service}
		for _, h := range rule.Headers {
			data[h.Name] = h.Value
		}
		o := &unstructured.Unstructured{Object: map[string]any{"data": data}}
		o.SetGroupVersionKind(configMap)
		o.SetNamespace(r.Namespace)
		o.SetName(p.object(r, rule))
		out.Objects = append(out.Objects, o)
		if rule.Default != nil {
			out.Unsupported = append(out.Unsupported, provider.Unsupported{Field: rule.Field + ".defaultBackend", Text: "it is not used"})
		}
	}
	return out
}

func (p tiny) State(r provider.Route, reader provider.Reader) provider.State {
	for _, rule := range r.Rules {
		o := reader.Get(configMap, r.Namespace, p.object(r, rule))
		if o == nil || o.GetAnnotations()["served"] == "" {
			return provider.State{Waiting: &provider.Reason{Reason: "NotServed", Message: "annotate the ConfigMaps"}}
		}
	}
	return provider.State{Addresses: []string{"192.0.2.1"}}
}

// start runs the controller for a test, and returns its metrics.
func start(t *testing.T) *prometheus.Registry {
	t.Helper()
	find := discovery.Options{DefinitionNamespaces: []string{"vela-system"}}
	registry := prometheus.NewRegistry()
	c, err := controller.New(controller.Options{
		Config: asControlPlane(), Registerer: registry,
		Planners: []controller.Planner{
			&route.Planner{Providers: []provider.Provider{tiny{"tiny"}, tiny{"other"}}, Discovery: find},
			oam.Applications{Discovery: find}, oam.ContainerizedWorkloads{}, oam.PodSpecWorkloads{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return registry
}

// counter returns the value of a counter or gauge.
func counter(t *testing.T, registry *prometheus.Registry, name string) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return int(f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
