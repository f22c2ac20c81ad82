package sidecar_test

import (
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// partRenderer names each resource after the method that returns it.
type partRenderer struct{ t *testing.T }

func (partRenderer) Supports() map[model.Feature]bool { return nil }

func (r partRenderer) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	if len(v.Outbound) > 0 {
		r.t.Error("Render gets the outbound view")
	}
	return []sidecar.Resource{{Name: "view"}}, []model.Finding{{Text: "view"}}
}

func (partRenderer) RenderDestination(model.ResolvedDestination) []sidecar.Resource {
	return []sidecar.Resource{{Name: "destination"}}
}

func (partRenderer) RenderOutbound(model.Mesh, *model.OutboundView) ([]sidecar.Resource, []model.Finding) {
	origins := []model.Origin{{Path: "route"}, {}}
	return []sidecar.Resource{{Name: "outbound", Origins: origins}}, []model.Finding{{Text: "outbound"}}
}

func (partRenderer) RenderBinding(_ model.Mesh, _ uint16, b model.Binding,
	find func(string) (model.Destination, bool)) ([]sidecar.Resource, []model.Finding) {
	d, _ := find("d")
	return []sidecar.Resource{{Name: b.Service + " to " + d.Workload}}, []model.Finding{{Text: "binding"}}
}

// wholeRenderer has no methods besides those of a Renderer.
type wholeRenderer struct{ sidecar.Renderer }

func (wholeRenderer) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	return []sidecar.Resource{{Name: v.Outbound[0].Bindings[0].Service}}, nil
}

func TestConfigurationHasAllParts(t *testing.T) {
	view := &model.View{Workload: model.Workload{Origin: model.Origin{Path: "workload"}}, OutboundView: model.OutboundView{
		Outbound: []model.Outbound{{Port: 80, Bindings: []model.Binding{
			{Service: "http", Protocol: model.HTTP}, {Service: "tcp", Protocol: model.TCP},
		}}},
		Destinations: []model.Destination{{Key: model.Key{Name: "d"}, Workload: "w"}},
	}}
	resolve := func(model.Key) (model.ResolvedDestination, bool) { return model.ResolvedDestination{}, true }
	for _, c := range []struct {
		renderer        sidecar.Renderer
		names, findings []string
	}{
		{partRenderer{t}, []string{"view", "outbound", "http to w", "destination"}, []string{"binding", "outbound", "view"}},
		{wholeRenderer{partRenderer{t}}, []string{"http", "destination"}, nil},
	} {
		resources, findings := sidecar.Configuration(c.renderer, view, resolve)
		var names, texts []string
		for _, r := range resources {
			names = append(names, r.Name)
			want := []model.Origin{{Path: "route"}, {Path: "workload"}}
			if r.Name == "outbound" && !slices.EqualFunc(r.Origins, want, model.Origin.Equal) {
				t.Errorf("got origins %v", r.Origins)
			}
		}
		for _, f := range findings {
			texts = append(texts, f.Text)
		}
		if !slices.Equal(names, c.names) || !slices.Equal(texts, c.findings) {
			t.Errorf("got resources %q and findings %q, want %q and %q", names, texts, c.names, c.findings)
		}
	}
}
