// Package tiny is a minimal sidecar driver and its sidecar. It uses only what the README of package sidecar
// documents.
//
// In: the view of a workload. Out: the same data as JSON in two xDS resource types of its own, and a sidecar that
// forwards HTTP and TCP according to package model.
package tiny

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Name is the sidecarClass of the driver and the command that runs its sidecar.
const Name = "tiny"

// Resource types. A sidecar subscribes to one view and to one resolved destination per destination.
const (
	viewType  = "type.googleapis.com/tiny.View"
	reachType = "type.googleapis.com/tiny.Reach"
)

// readyAddress serves /ready.
const readyAddress = "127.0.0.1:15021"

func init() { sidecar.Register(Name, Driver{}) }

// Driver is the sidecar driver.
type Driver struct{}

// Patch adds the sidecar container.
func (Driver) Patch(ctx context.Context) error {
	injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	if !ok {
		return errors.New("tiny: missing Injector Context")
	}
	image := injector.Configurator.GetSidecarImage()
	if image == "" {
		return fmt.Errorf("tiny: no sidecarImage in the entry of %s in sidecarDrivers", Name)
	}
	server := fmt.Sprintf("anymesh.%s.svc.cluster.local:%d", injector.OsmNamespace,
		injector.Configurator.GetProxyServerPort())
	injector.Sidecar = &sidecar.Spec{
		Container: corev1.Container{Name: Name, Image: image},
		Command:   []string{"anymesh", Name, "--server", server, "--node", injector.Node},
		ReadyURL:  "http://" + readyAddress + "/ready",
	}
	return nil
}

// Start makes the control plane deliver the resources of Render.
func (d Driver) Start(ctx context.Context) (sidecar.HealthProbes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return sidecar.HealthProbes{}, errors.New("tiny: missing Controller Context")
	}
	controller.Deliver(d)
	return sidecar.HealthProbes{}, nil
}

// Supports lists the supported features. Retries and timeouts are not among them.
func (Driver) Supports() map[model.Feature]bool {
	supported := map[model.Feature]bool{
		"egress.Allow": true, "egress.Deny": true, "route.weights": true, "route.match.method": true,
	}
	for _, p := range []model.Protocol{model.HTTP, model.TCP} {
		supported[model.ListenerFeature(p)], supported[model.DestinationFeature(p)] = true, true
	}
	for _, k := range []model.DiscoveryKind{model.DiscoverDNS, model.DiscoverInstances} {
		supported[model.DiscoveryFeature(k)] = true
	}
	for _, k := range []model.MatchKind{model.Exact, model.Prefix, model.Regex} {
		supported["route.match.path."+model.Feature(k)] = true
	}
	return supported
}

// Render encodes the view unchanged.
func (Driver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	return []sidecar.Resource{resource(viewType, "view", v, v.Workload.Origin)}, nil
}

// RenderDestination encodes the resolved destination unchanged.
func (Driver) RenderDestination(r model.ResolvedDestination) []sidecar.Resource {
	return []sidecar.Resource{resource(reachType, r.Destination.Name, r, r.Destination.Origin)}
}

func resource(kind, name string, value any, origin model.Origin) sidecar.Resource {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("tiny: %s does not encode: %v", name, err)) // all types of the model can be encoded as JSON
	}
	return sidecar.Resource{Type: kind, Name: name, Body: body, Origins: []model.Origin{origin}}
}
