// Package tiny is a minimal sidecar driver: the control plane delivers what it renders, over xDS. It uses only what the
// README of package sidecar documents.
//
// In: the view of a workload. Out: the same data as JSON in two xDS resource types of its own.
package tiny

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"example.com/tiny/proxy"
)

// Name is the sidecarClass of the driver and the command that runs its sidecar.
const Name = "tiny"

// Resource types. A sidecar subscribes to one view and to one resolved destination per destination.
const (
	viewType        = "type.googleapis.com/tiny.View"
	destinationType = "type.googleapis.com/tiny.Destination"
)

func init() { sidecar.Register(Name, Driver{}) }

// Driver is the sidecar driver.
type Driver struct{}

// relaySocket is where the agent relays xDS, with the certificate of the pod.
const relaySocket = sidecar.CertificatesDir + "/xds.sock"

// Patch adds the sidecar container.
func (Driver) Patch(ctx context.Context) error { return proxy.Patch(ctx, Name, relaySocket) }

// Start makes the control plane deliver the resources of Render.
func (d Driver) Start(ctx context.Context) (sidecar.Probes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return nil, errors.New("missing Controller Context")
	}
	controller.Deliver(d)
	return sidecar.HealthProbes{}, nil
}

// Supports lists the supported features.
func (Driver) Supports() map[model.Feature]bool { return proxy.Supports() }

// Render encodes the view unchanged.
func (Driver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	return []sidecar.Resource{resource(viewType, "view", v, v.Workload.Origin)}, nil
}

// RenderDestination encodes the resolved destination unchanged.
func (Driver) RenderDestination(r model.ResolvedDestination) []sidecar.Resource {
	return []sidecar.Resource{resource(destinationType, r.Destination.Name, r, r.Destination.Origin)}
}

func resource(kind, name string, value any, origin model.Origin) sidecar.Resource {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("tiny: %s does not encode: %v", name, err)) // all types of the model can be encoded as JSON
	}
	return sidecar.Resource{Type: kind, Name: name, Body: body, Origins: []model.Origin{origin}}
}
