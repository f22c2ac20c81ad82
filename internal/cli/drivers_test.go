package cli

import (
	"context"
	"encoding/json"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// plain is a second driver. It renders destinations as JSON and has no Outliner.
type plain struct{}

func init() { sidecar.Register("plain", plain{}) }

func (plain) Patch(context.Context) error { return nil }

func (plain) Start(context.Context) (sidecar.Probes, error) { return sidecar.HealthProbes{}, nil }

func (plain) Supports() map[model.Feature]bool {
	all := map[model.Feature]bool{}
	for _, f := range model.AllFeatures() {
		all[f] = f != "route.weights"
	}
	return all
}

func (plain) Render(v *model.View) ([]sidecar.Resource, []model.Finding) { return nil, nil }

func (plain) RenderDestination(r model.ResolvedDestination) []sidecar.Resource {
	body, err := json.Marshal(map[string]any{"port": r.Destination.Port})
	if err != nil {
		panic(err)
	}
	return []sidecar.Resource{{Type: "destination", Name: r.Destination.Name, Body: body}}
}
