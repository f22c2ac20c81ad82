package sidecar_test

import (
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// recorder records what a driver gets.
type recorder struct {
	partRenderer
	listeners, destinations *int
}

func (r recorder) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	*r.listeners = len(v.Inbound)
	return nil, nil
}

func (r recorder) RenderDestination(to model.ResolvedDestination) []sidecar.Resource {
	if to.Destination.Discovery.Hostname != "" {
		*r.destinations++
	}
	return nil
}

func (r recorder) RenderBinding(_ model.Mesh, _ uint16, _ model.Binding,
	find func(string) (model.Destination, bool)) ([]sidecar.Resource, []model.Finding) {
	if d, _ := find("d"); d.TLS != nil || d.Discovery.Hostname != "" {
		*r.destinations++
	}
	return nil, nil
}

// A driver without TLS gets neither listeners nor destinations that require it, in each of its methods.
func TestProtectedDriverGetsNothingUnprotected(t *testing.T) {
	to := model.Destination{
		Key: model.Key{Name: "d"}, TLS: &model.ClientTLS{Required: true},
		Discovery: model.Discovery{Kind: model.DiscoverDNS, Hostname: "h"},
	}
	origin := model.NewOrigin(model.ObjectRef{Name: "w"})
	strict := &model.ServerTLS{Mode: model.TLSStrict, Origin: origin}
	view := &model.View{
		Workload: model.Workload{Origin: origin},
		Inbound:  []model.Inbound{{Listener: model.Listener{Port: 80, TLS: strict}}},
		OutboundView: model.OutboundView{
			Outbound:     []model.Outbound{{Port: 80, Bindings: []model.Binding{{Service: "s", Protocol: model.HTTP}}}},
			Destinations: []model.Destination{to},
		},
	}
	resolve := func(model.Key) (model.ResolvedDestination, bool) {
		return model.ResolvedDestination{Destination: to}, true
	}
	listeners, destinations := 0, 0
	driver := recorder{partRenderer{t}, &listeners, &destinations}
	_, findings := sidecar.Configuration(sidecar.Protected("tiny", driver), view, resolve)
	if listeners != 0 || destinations != 0 {
		t.Errorf("the driver gets %d listeners and %d destinations", listeners, destinations)
	}
	errors := 0
	for _, f := range findings {
		if f.Code == model.CodeNotSupported && f.Severity == model.Error {
			errors++
		}
		if f.Code == model.CodeNotSupported && f.Object.Name != "w" {
			t.Errorf("the finding is not about the workload: %v", f)
		}
	}
	if errors != 2 {
		t.Errorf("got findings %v, want two errors", findings)
	}
	if sidecar.Configuration(driver, view, resolve); listeners == 0 || destinations == 0 {
		t.Error("the driver itself gets no listener or no destination")
	}
}

// namesRenderer records the names of peers that a driver with all features gets.
type namesRenderer struct {
	partRenderer
	listeners, destinations *[]string
}

func (namesRenderer) Supports() map[model.Feature]bool {
	out := map[model.Feature]bool{}
	for _, f := range model.AllFeatures() {
		out[f] = true
	}
	return out
}

func (r namesRenderer) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	*r.listeners = v.Inbound[0].Listener.TLS.Validation.Names
	return nil, nil
}

func (r namesRenderer) RenderDestination(to model.ResolvedDestination) []sidecar.Resource {
	*r.destinations = to.Destination.TLS.Validation.Names
	return nil
}

// While the root is replaced by one of another trust domain, drivers get the names of peers in both.
func TestNamesInAllTrustDomainsForEachDriver(t *testing.T) {
	validation := &model.Validation{Names: []string{"spiffe://one/ns/n/sa/a"}}
	tls := &model.ServerTLS{Mode: model.TLSStrict, Validation: validation}
	to := model.Destination{Key: model.Key{Name: "d"}, TLS: &model.ClientTLS{Validation: validation}}
	view := &model.View{
		Mesh:         model.Mesh{TrustDomain: "one", TrustDomainAliases: []string{"two"}},
		Inbound:      []model.Inbound{{Listener: model.Listener{Port: 80, TLS: tls}}},
		OutboundView: model.OutboundView{Destinations: []model.Destination{to}},
	}
	var listeners, destinations []string
	r := sidecar.Protected("tiny", namesRenderer{partRenderer{t}, &listeners, &destinations})
	sidecar.Configuration(r, view, func(model.Key) (model.ResolvedDestination, bool) {
		return model.ResolvedDestination{Mesh: view.Mesh, Destination: to}, true
	})
	want := []string{"spiffe://one/ns/n/sa/a", "spiffe://two/ns/n/sa/a"}
	if !slices.Equal(listeners, want) || !slices.Equal(destinations, want) {
		t.Errorf("listeners get %v, destinations %v, want %v", listeners, destinations, want)
	}
}

// countingRenderer counts calls of Supports.
type countingRenderer struct {
	partRenderer
	calls *int
}

func (r countingRenderer) Supports() map[model.Feature]bool {
	*r.calls++
	return map[model.Feature]bool{"route.weights": true}
}

// The list of features is made once, and not for each workload.
func TestProtectedDriverListsFeaturesOnce(t *testing.T) {
	calls := 0
	r := sidecar.Protected("tiny", countingRenderer{partRenderer{t}, &calls})
	for range 2 {
		if !r.Supports()["route.weights"] {
			t.Error("a feature of the driver is missing")
		}
	}
	if calls != 1 {
		t.Errorf("got %d calls, want 1", calls)
	}
}
