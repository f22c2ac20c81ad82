package main

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// node returns a VirtualNode with awsCloudMap discovery.
func node(name string) *api.VirtualNode {
	return &api.VirtualNode{ObjectMeta: meta(name), Spec: api.VirtualNodeSpec{
		PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		Listeners:   []api.Listener{{PortMapping: api.PortMapping{Port: port, Protocol: "http"}}},
		ServiceDiscovery: &api.ServiceDiscovery{
			AWSCloudMap: &api.AWSCloudMapServiceDiscovery{NamespaceName: "bench", ServiceName: name},
		},
	}}
}

// group returns the BackendGroup of all services.
func group() *api.BackendGroup {
	return &api.BackendGroup{ObjectMeta: meta(groupName), Spec: api.BackendGroupSpec{
		VirtualServices: []api.VirtualServiceReference{{Name: "*"}},
	}}
}

const groupName = "everything"

// workload returns a VirtualNode with all services as backends.
func workload(i int, s size) *api.VirtualNode {
	n := node(workloadName(i))
	if s.group {
		n.Spec.BackendGroups = []api.BackendGroupReference{{Name: groupName}}
		return n
	}
	for j := range s.services {
		n.Spec.Backends = append(n.Spec.Backends, api.Backend{VirtualService: api.VirtualServiceBackend{
			VirtualServiceRef: &api.VirtualServiceReference{Name: serviceName(j)},
		}})
	}
	return n
}

// virtualService returns the VirtualService of a VirtualNode with the same name.
func virtualService(name string) *api.VirtualService {
	return &api.VirtualService{ObjectMeta: meta(name), Spec: api.VirtualServiceSpec{
		Provider: &api.VirtualServiceProvider{
			VirtualNode: &api.VirtualNodeServiceProvider{VirtualNodeRef: &api.VirtualNodeReference{Name: name}},
		},
	}}
}

// setReady sets the status of a service pod to running, and its readiness.
func (c *cluster) setReady(ctx context.Context, service, j int, ready bool) error {
	return c.setPodReady(ctx, endpointPod(service, j), podAddress(service, j), ready)
}

// setPodReady sets the status of a pod to running, and its readiness.
func (c *cluster) setPodReady(ctx context.Context, name, address string, ready bool) error {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	patch, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{
			{
				Type: corev1.PodReady, Status: status,
				LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second)),
			},
		},
	}})
	if err != nil {
		return err
	}
	p := &corev1.Pod{ObjectMeta: meta(name)}
	return c.client.Status().Patch(ctx, p, client.RawPatch(types.StrategicMergePatchType, patch))
}

// service creates the missing objects of a service.
func (c *cluster) service(ctx context.Context, i int) error {
	name := serviceName(i)
	return c.createService(ctx, i, pod, node(name), virtualService(name))
}

// createService creates the missing ones of some objects, and of the two pods of a service, which are ready then.
func (c *cluster) createService(
	ctx context.Context, i int, newPod func(name, app string) *corev1.Pod, objects ...client.Object,
) error {
	for j := range 2 {
		objects = append(objects, newPod(endpointPod(i, j), serviceName(i)))
	}
	for _, o := range objects {
		if err := c.create(ctx, o); err != nil {
			return err
		}
	}
	for j := range 2 {
		if err := c.setReady(ctx, i, j, true); err != nil {
			return err
		}
	}
	return nil
}

// routeAt creates or updates the router of a service: requests with the prefix go to the workload of the service.
func (c *cluster) routeAt(ctx context.Context, name, prefix string) error {
	r := &api.VirtualRouter{ObjectMeta: meta(name)}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { // the control plane may update its status meanwhile
		_, err := controllerutil.CreateOrUpdate(ctx, c.client, r, func() error {
			r.Spec.Listeners = []api.VirtualRouterListener{{PortMapping: api.PortMapping{Port: port, Protocol: "http"}}}
			r.Spec.Routes = []api.Route{{Name: "r", HTTPRoute: &api.HTTPRoute{Match: api.HTTPRouteMatch{Prefix: &prefix}, Action: api.RouteAction{
				WeightedTargets: []api.WeightedTarget{
					{VirtualNodeRef: &api.VirtualNodeReference{Name: name}, Weight: 1},
				},
			}}}}
			return nil
		})
		return err
	})
}

// provide replaces the provider of a service.
func (c *cluster) provide(ctx context.Context, name string, provider map[string]any) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"provider": provider}})
	if err != nil {
		return err
	}
	return c.client.Patch(ctx, &api.VirtualService{ObjectMeta: meta(name)},
		client.RawPatch(types.MergePatchType, patch))
}
