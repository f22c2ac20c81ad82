// Package tiny is a sidecar driver and its sidecar, as small as they can be: the README of package sidecar is all that
// they were written by.
//
// In: the view of a workload. Out: the same as JSON, in two types of xDS resources of its own, and a sidecar that
// forwards HTTP and TCP as package model decides.
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

// Name is the sidecarClass of the driver, and the verb of the program that runs its sidecar.
const Name = "tiny"

// The types of resources. A sidecar has one view, and a reach for each destination.
const (
	viewType  = "type.googleapis.com/tiny.View"
	reachType = "type.googleapis.com/tiny.Reach"
)

// readyAddress answers /ready.
const readyAddress = "127.0.0.1:15021"

func init() { sidecar.Register(Name, Driver{}) }

// Driver is the sidecar driver.
type Driver struct{}

// Patch asks for a container with the sidecar.
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

// Start has the control plane deliver what Render gives.
func (d Driver) Start(ctx context.Context) (sidecar.HealthProbes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return sidecar.HealthProbes{}, errors.New("tiny: missing Controller Context")
	}
	controller.Deliver(d)
	return sidecar.HealthProbes{}, nil
}

// Supports lists what the sidecar honors: it neither retries nor stops waiting.
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

// Render gives the view as it is.
func (Driver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	return []sidecar.Resource{resource(viewType, "view", v, v.Workload.Origin)}, nil
}

// RenderDestination gives the reach as it is.
func (Driver) RenderDestination(r model.ResolvedDestination) []sidecar.Resource {
	return []sidecar.Resource{resource(reachType, r.Destination.Name, r, r.Destination.Origin)}
}

func resource(kind, name string, value any, origin model.Origin) sidecar.Resource {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("tiny: %s does not encode: %v", name, err)) // the model is made for JSON
	}
	return sidecar.Resource{Type: kind, Name: name, Body: body, Origins: []model.Origin{origin}}
}
