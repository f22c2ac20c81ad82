package ingress

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// allKey is the only key of a relation whose readers need all entries.
type allKey struct{}

// servedClass is an IngressClass of this gateway.
type servedClass struct {
	name string
	// standard is true for the class of Ingresses without a class.
	standard bool
}

// hostPath is a path of an Ingress for a host name.
type hostPath struct {
	path model.StringMatch
	// secret is the Secret with the certificate of the host, empty for plain HTTP.
	secret  string
	backend backend
	// fallback is the backend in place of one without ready endpoint; the zero value is none.
	fallback backend
	rewrite  *model.Rewrite
	timeouts model.Timeouts
	// port is the only port of the gateway's pods with the path of an HTTPRoute; 0 for an Ingress.
	port uint16
	// split are the backends, and redirect the response, of an HTTPRoute.
	split    []weightedBackend
	redirect *model.Redirect
	origin   model.Origin
}

// weightedBackend is a backend of an HTTPRoute.
type weightedBackend struct {
	backend
	weight uint32
	field  string
}

// backend is a port of a Service, by number or by name.
type backend struct {
	service types.NamespacedName
	number  int32
	name    string
	// sendTimeout is that of the destination.
	sendTimeout model.Duration
}

// resolvedBackend is what a backend stands for: a destination, or the reason why there is none.
type resolvedBackend struct {
	destination string
	// ready is true if the backend has a ready endpoint.
	ready bool
	// noSendTimeout is set if the send timeout has no effect.
	noSendTimeout bool
	fault         string
	code          model.Code // of the fault
}

// relations are the relations between the rules.
type relations struct {
	classes *incremental.Relation[allKey, servedClass]
	paths   *incremental.Relation[string, hostPath] // by host name
	secured *incremental.Relation[allKey, model.HostCertificate]
	used    *incremental.Relation[backend, model.ObjectRef]
	targets *incremental.Relation[backend, resolvedBackend]
	ready   *incremental.Relation[string, struct{}] // by group; an entry for each ready endpoint
	pods    *incremental.Relation[string, podPort]  // by group
	// addresses are the addresses of the gateway.
	addresses *incremental.Relation[allKey, string]
	states    *incremental.Relation[model.ObjectRef, state]
}

// members is the part of a rule that emits objects that the gateway serves.
type members struct {
	meshes *incremental.Emitter[model.ObjectRef, string]
	states *incremental.Emitter[model.ObjectRef, state]
}

func (r relations) emitsMembers(rule *incremental.Rule, out *store.Model) members {
	return members{incremental.Emits(rule, out.Members), incremental.Emits(rule, r.states)}
}

func (m members) emit(object model.ObjectRef, s state) {
	m.meshes.Emit(object, mesh)
	m.states.Emit(object, s)
}

func newRelations(g *incremental.Graph, out *store.Model) relations {
	return relations{
		states: store.NewStates[state](g, out),
		ready: incremental.NewRelation[string](g, "ready endpoints", func(struct{}, struct{}) int { return 0 },
			func(struct{}, struct{}) bool { return true }),
		pods: incremental.NewRelation[string](g, "pods of backends", podPort.compare,
			func(a, b podPort) bool { return a == b }),
		addresses: incremental.NewRelation[allKey](g, "addresses of the gateway", strings.Compare,
			func(a, b string) bool { return a == b }),
		classes: incremental.NewRelation[allKey](g, "classes", func(a, b servedClass) int {
			return strings.Compare(a.name, b.name)
		}, func(a, b servedClass) bool { return a == b }),
		paths: incremental.NewRelation[string](g, "paths", hostPath.compare,
			func(a, b hostPath) bool { return reflect.DeepEqual(a, b) }),
		secured: incremental.NewRelation[allKey](g, "certificates", func(a, b model.HostCertificate) int {
			return cmp.Or(slices.Compare(a.Hosts, b.Hosts), a.Origin.CompareAge(b.Origin),
				strings.Compare(a.Origin.Path, b.Origin.Path),
				strings.Compare(a.Certificate.Secret.Name, b.Certificate.Secret.Name))
		}, func(a, b model.HostCertificate) bool { return reflect.DeepEqual(a, b) }),
		used: incremental.NewRelation[backend](g, "backends", model.ObjectRef.Compare,
			func(a, b model.ObjectRef) bool { return a == b }),
		targets: incremental.NewRelation[backend](g, "destinations of backends",
			func(a, b resolvedBackend) int {
				return cmp.Or(strings.Compare(a.destination, b.destination), strings.Compare(a.fault, b.fault),
					strings.Compare(strconv.FormatBool(a.ready), strconv.FormatBool(b.ready)),
					strings.Compare(strconv.FormatBool(a.noSendTimeout), strconv.FormatBool(b.noSendTimeout)))
			}, func(a, b resolvedBackend) bool { return a == b }),
	}
}

// compare orders paths as they are matched: exact ones first, then longer ones. Of equal ones, that of the oldest
// Ingress is first.
func (a hostPath) compare(b hostPath) int {
	exact := func(p hostPath) int {
		if p.path.Kind == model.Exact {
			return 0
		}
		return 1
	}
	return cmp.Or(exact(a)-exact(b), len(b.path.Value)-len(a.path.Value), strings.Compare(a.path.Value, b.path.Value),
		a.origin.CompareAge(b.origin), strings.Compare(a.origin.Path, b.origin.Path), cmp.Compare(a.port, b.port))
}

// Rules adds the rules.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	if !d.Enabled {
		return
	}
	r := newRelations(g, out)
	rule := incremental.NewRule(g, "IngressClass")
	incremental.Each(rule, store.Of[*networkingv1.IngressClass](objects), incremental.Emits(rule, r.classes), emitClass)
	rule = incremental.NewRule(g, "Service of the gateway")
	incremental.Each(rule, store.Of[*corev1.Service](objects), &addressRule{d, incremental.Emits(rule, r.addresses)},
		(*addressRule).evaluate)
	rule = incremental.NewRule(g, "Ingress")
	incremental.Each(rule, store.Of[*networkingv1.Ingress](objects), &ingressRule{
		classes: incremental.Reads(rule, r.classes), addresses: incremental.Reads(rule, r.addresses),
		paths:   incremental.Emits(rule, r.paths),
		secured: incremental.Emits(rule, r.secured), used: incremental.Emits(rule, r.used),
		members: r.emitsMembers(rule, out), findings: out.EmitsFindings(rule),
	}, (*ingressRule).evaluate)
	rule = incremental.NewRule(g, "EndpointSlice")
	incremental.Each(rule, store.Of[*discoveryv1.EndpointSlice](objects), &sliceRule{
		ready: incremental.Emits(rule, r.ready), pods: incremental.Emits(rule, r.pods), endpoints: out.EmitsEndpoints(rule),
	}, (*sliceRule).evaluate)
	rule = incremental.NewRule(g, "backend of an Ingress")
	incremental.Each(rule, r.used, &backendRule{
		Dialect: d, pods: incremental.Reads(rule, r.pods), endpoints: incremental.Reads(rule, out.Endpoints),
		workloads: incremental.Reads(rule, out.Workloads),
		services:  incremental.Reads(rule, store.Of[*corev1.Service](objects)), ready: incremental.Reads(rule, r.ready),
		targets: incremental.Emits(rule, r.targets), destinations: out.EmitsDestinations(rule),
	}, (*backendRule).evaluate)
	rule = incremental.NewRule(g, "host of Ingresses")
	incremental.Each(rule, r.paths, &hostRule{
		targets: incremental.Reads(rule, r.targets), services: out.EmitsServices(rule), routers: out.EmitsRouters(rule),
		findings: out.EmitsFindings(rule),
	}, (*hostRule).evaluate)
	rule = incremental.NewRule(g, "gateway of Ingresses")
	incremental.Each(rule, store.Of[*corev1.Namespace](objects), &gatewayRule{
		Dialect: d, secured: incremental.Reads(rule, r.secured), meshes: out.EmitsMeshes(rule),
		workloads: out.EmitsWorkloads(rule), findings: out.EmitsFindings(rule),
	}, (*gatewayRule).evaluate)
	rule = incremental.NewRule(g, "pods of the gateway")
	incremental.Each(rule, store.Of[*store.Pod](objects), &gatewayPodRule{d, out.EmitsEndpoints(rule)},
		(*gatewayPodRule).evaluate)
	if d.GatewayAPI {
		d.gatewayRules(g, objects, out, r)
	}
}

// defaultClassAnnotation marks the IngressClass of Ingresses without a class.
const defaultClassAnnotation = networkingv1.AnnotationIsDefaultIngressClass
