package main

import (
	"context"
	"encoding/json"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	driver "anymesh.dev/anymesh/sidecar"
)

// membersMesh is the default name of the mesh of Open Service Mesh.
const membersMesh = "osm"

// members is the Anymesh control plane with objects of Open Service Mesh: every Service is reachable from every pod,
// and each workload has a ServiceAccount and a Service. Every member may call every member, unless TrafficTargets
// change.
type members struct{ anymesh }

// changeTargets is the kind of changes that create and delete TrafficTargets.
const changeTargets = "targets"

func (p members) createObjects(ctx context.Context, c *cluster, s size) error {
	if err := c.define(ctx); err != nil {
		return err
	}
	label := fmt.Sprintf(`{"metadata": {"labels": {"openservicemesh.io/monitored-by": %q}}}`, membersMesh)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.client.Patch(ctx, ns, client.RawPatch(types.MergePatchType, []byte(label))); err != nil {
		return err
	}
	for _, o := range []client.Object{p.settings(), anyRequest()} {
		if err := c.create(ctx, o); err != nil {
			return err
		}
	}
	if err := each(ctx, s.services, c.memberService); err != nil {
		return err
	}
	if err := each(ctx, s.workloads, func(ctx context.Context, i int) error {
		return c.create(ctx, kubernetesService(workloadName(i)))
	}); err != nil {
		return err
	}
	if err := each(ctx, s.clients, func(ctx context.Context, i int) error {
		return c.setPodReady(ctx, clientPod(i), clientAddress(i), true)
	}); err != nil {
		return err
	}
	progress("objects created")
	return p.writeStatus(ctx, c)
}

// settings returns the MeshConfig.
func (p members) settings() *config.MeshConfig {
	permissive, err := json.Marshal(p.kind != changeTargets)
	if err != nil {
		panic(err) // unreachable: it is a bool
	}
	o := &config.MeshConfig{ObjectMeta: meta("osm-mesh-config"), Spec: config.MeshConfigSpec{"traffic": {
		"enablePermissiveTrafficPolicyMode": apiextensionsv1.JSON{Raw: permissive},
	}}}
	o.Namespace = system
	return o
}

func anyRequest() *specs.HTTPRouteGroup {
	return &specs.HTTPRouteGroup{ObjectMeta: meta("any"), Spec: specs.HTTPRouteGroupSpec{
		Matches: []specs.HTTPMatch{{Name: "any", PathRegex: ".*"}},
	}}
}

// memberService creates a Service with its ServiceAccount and two pods.
func (c *cluster) memberService(ctx context.Context, i int) error {
	name := serviceName(i)
	return c.createService(ctx, i, member, &corev1.ServiceAccount{ObjectMeta: meta(name)}, kubernetesService(name))
}

// member returns a pod with a sidecar, and the ServiceAccount of its workload.
func member(name, workload string) *corev1.Pod {
	p := pod(name, workload)
	p.Labels[driver.UUIDLabel] = name
	p.Spec.ServiceAccountName = workload
	return p
}

// kubernetesService returns a Service of the pods of a workload.
func kubernetesService(workload string) *corev1.Service {
	return &corev1.Service{ObjectMeta: meta(workload), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": workload},
		Ports:    []corev1.ServicePort{{Name: "http-web", Port: port}},
	}}
}

func (members) clusterName(service int) string {
	return fmt.Sprintf("cds_egress_%s_%s_%s:%d", membersMesh, namespace, serviceName(service), port)
}

func (members) subscriptions(_, workload int) []*discoveryv3.DeltaDiscoveryRequest {
	node := &corev3.Node{Id: fmt.Sprintf("%s/%s/%s", membersMesh, namespace, workloadName(workload))}
	all := subscriptions(node, scopeType, fmt.Sprintf("xdstp://anymesh%srds_egress_http_%d/*", scopePath, port))
	// the inbound routes have the policies
	return append(all, &discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: routeType, ResourceNamesSubscribe: []string{fmt.Sprintf("rds_ingress_http_%d", port)},
	})
}

// apply creates a TrafficTarget with a workload as its destination, or deletes it. Only the clients of this workload
// receive it.
func (p members) apply(ctx context.Context, m *bench, i int) ([]int, error) {
	if p.kind != changeTargets {
		return nil, fmt.Errorf("kind %q is not for members", p.kind)
	}
	workload := i / 2 % m.workloads
	account := func(name string) access.Subject {
		return access.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: name}
	}
	o := &access.TrafficTarget{ObjectMeta: meta(workloadName(workload)), Spec: access.TrafficTargetSpec{
		Destination: account(workloadName(workload)), Sources: []access.Subject{account(serviceName(0))},
		Rules: []access.Rule{{Kind: "HTTPRouteGroup", Name: "any"}},
	}}
	if i%2 == 1 {
		return m.clientsOf(workload), m.client.Delete(ctx, o)
	}
	return m.clientsOf(workload), m.create(ctx, o)
}

// clientsOf returns the numbers of the clients of a workload.
func (s size) clientsOf(workload int) []int {
	var out []int
	for i := workload; i < s.clients; i += s.workloads {
		out = append(out, i)
	}
	return out
}
