// Package gateway is the gateway of this control plane: pods that serve the host names of objects of several dialects.
//
// In: the paths of each host name, with certificates and backends, as the rules of dialects emit them; the Services and
// EndpointSlices of the backends, and the pods of the gateway. Out: the mesh with the gateway as its workload; a
// service for each host name, which the gateway reaches, with the paths of all dialects; a destination for each port of
// a Service.
package gateway

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Mesh is the name of the mesh of the gateway. Value is the chart value with its settings, and DefaultNamespace its
// namespace if these name none.
const (
	Mesh             = "ingress"
	Value            = "ingress"
	DefaultNamespace = "anymesh-gateway"
)

// The gateway listens on these ports, for HTTP and for HTTPS. Its Service maps 80 and 443 to them.
const (
	HTTPPort  = 8080
	HTTPSPort = 8443
)

// AnyHost is the host of paths that are served after those of each host, and for all other hosts.
const AnyHost = model.AnyHost

// Key is the key of the workload.
var Key = model.Key{Mesh: Mesh, Name: "gateway"}

// Name is the name of the gateway's Deployment, Service and service account, and the value of Label on its pods and its
// namespace.
const (
	Name  = "anymesh-gateway"
	Label = "anymesh.dev/gateway"
)

// Settings are the settings of the gateway.
type Settings struct {
	// TrustDomain is the trust domain of the gateway's identity.
	TrustDomain string
	// Namespace is the namespace of the gateway's pods. No other pod becomes a gateway.
	Namespace string
	// TrustedHops is that of the workload.
	TrustedHops uint32
	// WithoutEndpoints is set for manifests, which may lack the pods of a canary: it gets its requests all the same.
	WithoutEndpoints bool
}

// Includes reports whether a pod with labels, in a namespace, is a pod of the gateway.
func (s Settings) Includes(set labels.Labels, namespace string) bool {
	return namespace == s.Namespace && set.Get(Label) == Name
}

// origin is the origin of the gateway.
func (s Settings) origin() model.Origin {
	return model.NewOrigin(model.ObjectRef{Group: "apps", Kind: "Deployment", Namespace: s.Namespace, Name: Name})
}

// Kinds returns an empty object of each kind that the rules of the gateway read.
func Kinds() []client.Object {
	return []client.Object{&corev1.Namespace{}, &corev1.Pod{}, &corev1.Service{}, &discoveryv1.EndpointSlice{}}
}

// Gateway has the relations between the rules of dialects and those of the gateway. Use Of.
type Gateway struct {
	paths   *incremental.Relation[string, Path] // by host name
	secured *incremental.Relation[allKey, model.HostCertificate]
	used    *incremental.Relation[Backend, model.ObjectRef]
	targets *incremental.Relation[Backend, resolvedBackend]
	ready   *incremental.Relation[string, struct{}] // by group; an entry for each ready endpoint
	pods    *incremental.Relation[string, podPort]  // by group
	// addresses are the addresses of the gateway.
	addresses *incremental.Relation[allKey, string]
}

// allKey is the only key of a relation whose readers need all entries.
type allKey struct{}

// Of returns the gateway of a graph, whose rules the first call adds. All dialects have the same settings of it.
func Of(g *incremental.Graph, objects *store.Objects, out *store.Model, s Settings) *Gateway {
	return incremental.Shared(g, "gateway", func() *Gateway {
		gateway := newGateway(g)
		gateway.addRules(g, objects, out, s)
		return gateway
	})
}

func (r *Gateway) addRules(g *incremental.Graph, objects *store.Objects, out *store.Model, s Settings) {
	rule := incremental.NewRule(g, "addresses")
	incremental.Each(rule, store.Of[*corev1.Service](objects), &addressRule{s, incremental.Emits(rule, r.addresses)},
		(*addressRule).evaluate)
	rule = incremental.NewRule(g, "EndpointSlice")
	incremental.Each(rule, store.Of[*discoveryv1.EndpointSlice](objects), &sliceRule{
		ready: incremental.Emits(rule, r.ready), pods: incremental.Emits(rule, r.pods), endpoints: out.EmitsEndpoints(rule),
	}, (*sliceRule).evaluate)
	rule = incremental.NewRule(g, "backend")
	incremental.Each(rule, r.used, &backendRule{
		Settings: s, pods: incremental.Reads(rule, r.pods), endpoints: incremental.Reads(rule, out.Endpoints),
		workloads: incremental.Reads(rule, out.Workloads),
		services:  incremental.Reads(rule, store.Of[*corev1.Service](objects)), ready: incremental.Reads(rule, r.ready),
		targets: incremental.Emits(rule, r.targets), destinations: out.EmitsDestinations(rule),
	}, (*backendRule).evaluate)
	rule = incremental.NewRule(g, "host")
	incremental.Each(rule, r.paths, &hostRule{
		Settings: s, paths: incremental.Reads(rule, r.paths), targets: incremental.Reads(rule, r.targets),
		services: out.EmitsServices(rule),
		routers:  out.EmitsRouters(rule), findings: out.EmitsFindings(rule),
	}, (*hostRule).evaluate)
	rule = incremental.NewRule(g, "workload")
	incremental.Each(rule, store.Of[*corev1.Namespace](objects), &gatewayRule{
		Settings: s, secured: incremental.Reads(rule, r.secured), meshes: out.EmitsMeshes(rule),
		workloads: out.EmitsWorkloads(rule), findings: out.EmitsFindings(rule),
	}, (*gatewayRule).evaluate)
	rule = incremental.NewRule(g, "pods")
	incremental.Each(rule, store.Of[*store.Pod](objects), &podRule{s, out.EmitsEndpoints(rule)}, (*podRule).evaluate)
}

// podRule adds the pods of the gateway.
type podRule struct {
	Settings
	endpoints store.Output[model.Instance, model.Endpoint]
}

func (r *podRule) evaluate(_ types.NamespacedName, all []*store.Pod) {
	if pod := all[0]; r.Includes(pod.Labels, pod.Namespace()) && !pod.Terminated {
		r.endpoints.Emit(store.EndpointOf(pod, Key, r.TrustDomain))
	}
}

// addressRule adds the addresses of the gateway: those of the load balancer, or the cluster IPs of a Service of another
// type.
type addressRule struct {
	Settings
	addresses *incremental.Emitter[allKey, string]
}

func (r *addressRule) evaluate(id types.NamespacedName, all []*corev1.Service) {
	if id != (types.NamespacedName{Namespace: r.Namespace, Name: Name}) {
		return
	}
	service := all[0]
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		for _, ip := range service.Spec.ClusterIPs {
			r.addresses.Emit(allKey{}, ip)
		}
	}
	for _, at := range service.Status.LoadBalancer.Ingress {
		if address := cmp.Or(at.IP, at.Hostname); address != "" {
			r.addresses.Emit(allKey{}, address)
		}
	}
}
