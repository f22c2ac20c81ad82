// Package proxy is a minimal sidecar. It forwards HTTP and TCP according to package model.
//
// In: the view of its workload and the destinations of the view, from the control plane; captured connections. Out:
// connections to the application and to endpoints.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// readyAddress serves /ready.
const readyAddress = "127.0.0.1:15021"

// Patch adds the container of the sidecar to the pod in the InjectorContext. The command name is the driver's. The
// sidecar connects to the socket on which the agent relays xDS, or without a socket to the control plane.
func Patch(ctx context.Context, name, socket string) error {
	injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	if !ok {
		return errors.New("missing Injector Context")
	}
	image := injector.Configurator.GetSidecarImage()
	if image == "" {
		return fmt.Errorf("no sidecarImage in the entry of %s in sidecarDrivers", name)
	}
	server := fmt.Sprintf("anymesh.%s.svc.cluster.local:%d", injector.OsmNamespace,
		injector.Configurator.GetProxyServerPort())
	injector.Sidecar = &sidecar.Spec{
		Container: corev1.Container{Name: name, Image: image},
		Command:   []string{"anymesh", name, "--server", cmp.Or(socket, server), "--node", injector.Node},
		ReadyURL:  "http://" + readyAddress + "/ready",
	}
	if socket != "" {
		injector.Sidecar.RelaySocket, injector.Sidecar.RelayAddress = socket, server
	}
	return nil
}

// Supports lists the features of the model that the sidecar supports. Retries are not among them.
func Supports() map[model.Feature]bool {
	supported := map[model.Feature]bool{
		"egress.Allow": true, "egress.Deny": true, "route.weights": true, "route.match.method": true, "route.timeout": true,
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
