package main

import (
	"context"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	proxy "anymesh.dev/anymesh/internal/proxy/config"
	driver "anymesh.dev/anymesh/sidecar"
)

// l7mp is the Anymesh control plane with objects of l7mp: for each service, a VirtualService that the proxies of one
// workload serve, its Route, and a Target with the pods of the service.
type l7mp struct {
	anymesh
	workloads int
}

func (p l7mp) createObjects(ctx context.Context, c *cluster, s size) error {
	if err := c.define(ctx); err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	label := `{"metadata": {"labels": {"l7mp.io/injection": "enabled"}}}`
	if err := c.client.Patch(ctx, ns, client.RawPatch(types.MergePatchType, []byte(label))); err != nil {
		return err
	}
	if err := each(ctx, s.services, p.service(c)); err != nil {
		return err
	}
	progress("objects created")
	return p.writeStatus(ctx, c)
}

// firstPort is the port of the first listener of a proxy.
const firstPort = 2000

// service creates the objects of a service.
func (p l7mp) service(c *cluster) func(context.Context, int) error {
	return func(ctx context.Context, i int) error {
		name := serviceName(i)
		selects := func(app string) *api.Selector { return &api.Selector{MatchLabels: map[string]string{"app": app}} }
		in := &api.VirtualService{ObjectMeta: meta(name), Spec: api.VirtualServiceSpec{
			Selector: selects(workloadName(i % p.workloads)),
			Listener: api.Listener{
				Spec:  raw(`{"TCP": {"port": %d}}`, firstPort+i/p.workloads),
				Rules: []api.Rule{{Action: api.Action{RouteRef: name}}},
			},
		}}
		destination, spec := raw("%q", name), raw(`{"TCP": {"port": %d}}`, port)
		objects := []client.Object{
			in, &api.Route{ObjectMeta: meta(name), Spec: api.RouteSpec{Destination: &destination}},
			&api.Target{ObjectMeta: meta(name), Spec: api.TargetSpec{Cluster: &api.Cluster{
				Spec: &spec, Endpoints: []api.Endpoint{{Selector: selects(name)}},
			}}},
		}
		return c.createService(ctx, i, pod, objects...)
	}
}

func raw(format string, values ...any) apiextensionsv1.JSON {
	return apiextensionsv1.JSON{Raw: fmt.Appendf(nil, format, values...)}
}

// withProxy returns a pod with a proxy of l7mp.
func withProxy(name, app string) *corev1.Pod {
	p := pod(name, app)
	p.Labels[driver.UUIDLabel] = name
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "l7mp", Image: "none"})
	return p
}

func (l7mp) clusterName(service int) string {
	return fmt.Sprintf("cluster/%s/%s", namespace, serviceName(service))
}

func (l7mp) resourceType() string { return proxy.ResourceType }

// reaches reports whether the proxies of a workload have the cluster of a service.
func (p l7mp) reaches(client, service int) bool { return client%p.workloads == service%p.workloads }

func (l7mp) subscriptions(_, workload int) []*discoveryv3.DeltaDiscoveryRequest {
	return []*discoveryv3.DeltaDiscoveryRequest{{
		Node:    &corev3.Node{Id: fmt.Sprintf("l7mp/%s/%s", namespace, workloadName(workload))},
		TypeUrl: proxy.ResourceType, ResourceNamesSubscribe: []string{"*"},
	}}
}

// apply changes the retries of a Route, or the readiness of a pod. The proxies of one workload receive it.
func (p l7mp) apply(ctx context.Context, m *bench, i int) ([]int, error) {
	service := i * 7 % m.services
	receivers := m.clientsOf(service % m.workloads)
	switch p.kind {
	case "endpoints":
		return receivers, m.setReady(ctx, service, 0, i/m.services%2 == 1)
	case "routes":
		patch := fmt.Sprintf(`{"spec": {"retry": {"retry_on": "always", "num_retries": %d}}}`, i%50+1)
		o := &api.Route{ObjectMeta: meta(serviceName(service))}
		return receivers, m.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	return nil, fmt.Errorf("-change %s is not for -l7mp: use endpoints or routes", p.kind)
}
