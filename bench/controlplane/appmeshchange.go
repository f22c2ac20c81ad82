package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// apply makes a change of the kind. Changes of one object alternate between two states.
func (a anymesh) apply(ctx context.Context, m *bench, i int) ([]int, error) {
	service := i / 2 * 7 % m.services
	again := i%2 == 1
	switch a.kind {
	case "weights":
		return nil, m.shift(ctx, service, m.size, map[bool]int64{false: 100, true: 50}[again], "/")
	case "routes":
		return nil, m.shift(ctx, service, m.size, 50, map[bool]string{false: "/v1", true: "/"}[again])
	case "services":
		return nil, m.toggleService(ctx, service, again)
	case "workloads":
		return m.addWorkload(ctx, i)
	case "endpoints":
		return nil, a.setReady(ctx, m.cluster, service, 0, again)
	}
	return nil, fmt.Errorf("kind %q is unknown", a.kind)
}

// shift creates or updates the router of a service: requests with the prefix go to the workload of the service, by its
// weight in percent, and to that of the next service. It makes the router the provider of the service.
func (c *cluster) shift(ctx context.Context, i int, s size, weight int64, prefix string) error {
	name := serviceName(i)
	r := &api.VirtualRouter{ObjectMeta: meta(name)}
	// the control plane may update its status meanwhile
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		_, err := controllerutil.CreateOrUpdate(ctx, c.client, r, func() error {
			r.Spec.Listeners = []api.VirtualRouterListener{{PortMapping: api.PortMapping{Port: port, Protocol: "http"}}}
			r.Spec.Routes = []api.Route{{Name: "r", HTTPRoute: &api.HTTPRoute{
				Match: api.HTTPRouteMatch{Prefix: &prefix},
				Action: api.RouteAction{WeightedTargets: []api.WeightedTarget{
					{VirtualNodeRef: &api.VirtualNodeReference{Name: name}, Weight: weight},
					{
						VirtualNodeRef: &api.VirtualNodeReference{Name: serviceName((i + 1) % s.services)},
						Weight:         100 - weight,
					},
				}},
			}}}
			return nil
		})
		return err
	}); err != nil {
		return err
	}
	var service api.VirtualService
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(r), &service); err != nil {
		return err
	}
	if service.Spec.Provider.VirtualRouter != nil {
		return nil
	}
	return c.provide(ctx, name, map[string]any{
		"virtualNode": nil, "virtualRouter": map[string]any{"virtualRouterRef": map[string]any{"name": name}},
	})
}

// toggleService deletes the VirtualService of a service, or creates it again. The workloads keep it as a backend.
func (m *bench) toggleService(ctx context.Context, i int, create bool) error {
	if create {
		return m.service(ctx, i)
	}
	return m.client.Delete(ctx, &api.VirtualService{ObjectMeta: meta(serviceName(i))})
}

// addWorkload creates a workload with its first pod, and connects the client of the pod, which receives everything. If
// others reach the workload, it has a VirtualService, and its pod is ready.
func (m *bench) addWorkload(ctx context.Context, i int) ([]int, error) {
	number, at := m.clients+i, m.workloads+i
	name := workloadName(at)
	objects := []client.Object{pod(clientPod(number), name), workload(at, m.size)}
	if m.reached {
		objects = append(objects, virtualService(name))
	}
	for _, o := range objects {
		if err := m.create(ctx, o); err != nil {
			return nil, err
		}
	}
	if m.reached {
		if err := m.setPodReady(ctx, clientPod(number), clientAddress(number), true); err != nil {
			return nil, err
		}
	}
	return m.receivers(number), m.fleet.add(ctx, number, at)
}
