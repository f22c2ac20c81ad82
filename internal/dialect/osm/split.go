package osm

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	split "anymesh.dev/anymesh/api/smi/split/v1alpha4"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// trafficSplit is a TrafficSplit of a Service, without what is invalid.
type trafficSplit struct {
	origin model.Origin
	// conditional is true if it is for the requests of matches only.
	conditional bool
	matches     []model.Match
	backends    []splitBackend
}

// splitBackend is a share of a TrafficSplit.
type splitBackend struct {
	service types.NamespacedName
	weight  uint32
	origin  model.Origin
}

// addSplits adds the rules for TrafficSplits.
func (r *rules) addSplits(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "TrafficSplit")
	incremental.Each(rule, store.Of[*split.TrafficSplit](objects), &splitRule{
		policyRule: r.readsPolicies(rule), services: incremental.Reads(rule, store.Of[*corev1.Service](objects)),
		httpGroups: incremental.Reads(rule, r.httpGroups), splits: incremental.Emits(rule, r.splits),
	}, (*splitRule).evaluate)
	rule = incremental.NewRule(g, "several TrafficSplits")
	incremental.EachSeveral(rule, r.splits, r.out.EmitsFindings(rule), reportSplits)
}

// reportSplits reports TrafficSplits without effect: of those of a Service without matches, only the oldest has one.
func reportSplits(findings store.Output[model.ObjectRef, model.Finding], _ types.NamespacedName, all []*trafficSplit) {
	var first *trafficSplit
	for _, s := range all {
		switch {
		case s.conditional:
		case first == nil:
			first = s
		default:
			findings.Emit(model.NewFinding(s.origin.At("spec.service"), model.CodeNameConflict,
				fmt.Sprintf("has no effect: %s is for the same Service and is older", first.origin.Object())))
		}
	}
}

type splitRule struct {
	policyRule
	services   *incremental.Reader[types.NamespacedName, *corev1.Service]
	httpGroups *incremental.Reader[types.NamespacedName, *httpGroup]
	splits     *incremental.Emitter[types.NamespacedName, *trafficSplit]
}

func (r *splitRule) evaluate(name types.NamespacedName, all []*split.TrafficSplit) {
	o := all[0]
	at, _, is := r.member(split.GroupVersion.Group, "TrafficSplit", o)
	if !is {
		return
	}
	root, valid := r.service(at, "spec.service", name.Namespace, o.Spec.Service)
	out := &trafficSplit{origin: at, conditional: len(o.Spec.Matches) > 0, matches: r.matches(at, name.Namespace, o.Spec.Matches)}
	total := uint64(0)
	for i, b := range o.Spec.Backends {
		path := fmt.Sprintf("spec.backends[%d]", i)
		weight, whole := b.Weight.Number()
		if !whole {
			r.report(at, path+".weight", model.CodeInvalidField,
				"%s is not a whole number from 0 to 4294967295; the TrafficSplit has no effect", b.Weight)
			return
		}
		total += uint64(weight)
		if service, exists := r.service(at, path+".service", name.Namespace, b.Service); exists {
			out.backends = append(out.backends, splitBackend{service, weight, at.At(path)})
		}
	}
	if total == 0 {
		r.report(at, "spec.backends", model.CodeZeroWeight, "no backend has a weight above 0; requests get status 503")
	}
	if valid {
		r.splits.Emit(root, out)
	}
}

// service returns a Service by name, or by a name with the namespace of the TrafficSplit. It reports false, after a
// finding, if there is none.
func (r *splitRule) service(at model.Origin, path, namespace, host string) (types.NamespacedName, bool) {
	name, is := store.ServiceName(host, namespace)
	if !is || name.Namespace != namespace {
		r.report(at, path, model.CodeInvalidField, "%q is not a Service of namespace %s; it has no effect", host, namespace)
		return name, false
	}
	_, exists := r.clusterService(at, path, name, r.services)
	return name, exists
}

// matches returns the requests of route groups.
func (r *splitRule) matches(at model.Origin, namespace string, all []split.RouteMatch) []model.Match {
	var out []model.Match
	for i, m := range all {
		path := fmt.Sprintf("spec.matches[%d]", i)
		if !r.inGroup(at, path, m.APIGroup, specs.GroupVersion.Group) {
			continue
		}
		if m.Kind != kindHTTPRouteGroup {
			r.report(at, path+".kind", model.CodeInvalidField, "%q is not %s; it has no effect", m.Kind, kindHTTPRouteGroup)
			continue
		}
		name := types.NamespacedName{Namespace: namespace, Name: m.Name}
		if group, known := r.routeGroup(at, path+".name", name, r.httpGroups); known {
			out = append(out, group.all()...)
		}
	}
	return out
}

// groupOf returns the API group of a reference, which may have a version.
func groupOf(reference *string) string {
	if reference == nil {
		return ""
	}
	group, _, _ := strings.Cut(*reference, "/")
	return group
}

// splitRoutes returns the routes of the TrafficSplits of a Service on a port, for clients; nil means those without
// routes of their own. whole is true if they take all of its traffic.
func (r *serviceRule) splitRoutes(name types.NamespacedName, p servicePort,
	clients *clientRoutes) (routes []model.Route, whole bool) {
	conditional, all := r.splitsOn(name, p)
	for _, s := range conditional {
		for _, m := range s.matches {
			route := r.splitRoute(name, p, s, clients)
			route.Name, route.Match = fmt.Sprintf("%s/%d", route.Name, len(routes)), m
			routes = append(routes, route)
		}
	}
	if all == nil {
		return routes, false
	}
	return append(routes, r.splitRoute(name, p, all, clients)), true
}

// splitRoute returns the route to the backends that clients may call, or to all if they may call none. If none has a
// weight, it leads to a destination without endpoints.
func (r *serviceRule) splitRoute(name types.NamespacedName, p servicePort, s *trafficSplit,
	clients *clientRoutes) model.Route {
	out := model.Route{
		Name: s.origin.Object().Name, Port: p.number, Protocol: p.protocol, Origin: s.origin,
	}
	denied := false
	for _, b := range s.backends {
		backend, exists := r.clusterServices.ReadFirst(b.service)
		if !exists || b.weight == 0 {
			continue
		}
		port, found := backendPort(portsOf(backend), p)
		if !found && clients == nil {
			r.findings.Emit(model.NewFinding(b.origin, model.CodeReferenceNotFound,
				fmt.Sprintf("Service %s has no port %d, and not one port only; it gets nothing", b.service, p.number)))
		}
		if !found {
			continue
		}
		permitted := clients.restrict(leg{p.number, b.service}, r.destinationsOf(b.service, port))
		denied = denied || len(permitted) == 0
		for _, d := range permitted {
			out.Action.Destinations = append(out.Action.Destinations,
				model.WeightedDestination{Destination: d.Name, Weight: b.weight, Origin: b.origin})
		}
	}
	switch {
	case len(out.Action.Destinations) > 0:
	case denied:
		return r.splitRoute(name, p, s, nil)
	default:
		out.Action.Destinations = []model.WeightedDestination{{Destination: nothing(name, p), Weight: 1, Origin: s.origin}}
	}
	return out
}

// backendPort returns the port of a backend for a port of the Service: that with the same number, else the only one.
func backendPort(ports []servicePort, of servicePort) (servicePort, bool) {
	i := slices.IndexFunc(ports, func(p servicePort) bool { return p.number == of.number })
	switch {
	case i >= 0:
		return ports[i], true
	case len(ports) == 1:
		return ports[0], true
	}
	return servicePort{}, false
}
