package osm

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/spelling"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Kinds of subjects and rules.
const (
	kindServiceAccount = "ServiceAccount"
	kindHTTPRouteGroup = "HTTPRouteGroup"
	kindTCPRoute       = "TCPRoute"
)

// addTrafficTargets adds the rule for TrafficTargets.
func (r *rules) addTrafficTargets(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "TrafficTarget")
	incremental.Each(rule, store.Of[*access.TrafficTarget](objects), &targetRule{
		policyRule: r.readsPolicies(rule), trustDomain: r.dialect.trustDomain(),
		httpGroups: incremental.Reads(rule, r.httpGroups), tcpRoutes: incremental.Reads(rule, r.tcpRoutes),
		policies: r.out.EmitsAuthorizationPolicies(rule), listened: incremental.Reads(rule, r.listened),
		services: incremental.Reads(rule, store.Of[*corev1.Service](objects)), grants: incremental.Emits(rule, r.grants),
	}, (*targetRule).evaluate)
}

// targetRule emits the policies of TrafficTargets.
type targetRule struct {
	policyRule
	trustDomain string
	httpGroups  *incremental.Reader[types.NamespacedName, *httpGroup]
	tcpRoutes   *incremental.Reader[types.NamespacedName, *tcpRoute]
	listened    *incremental.Reader[types.NamespacedName, portUse]
	services    *incremental.Reader[types.NamespacedName, *corev1.Service]
	policies    store.Output[model.Key, model.AuthorizationPolicy]
	grants      *incremental.Emitter[types.NamespacedName, grant]
}

func (r *targetRule) evaluate(name types.NamespacedName, all []*access.TrafficTarget) {
	o := all[0]
	at, mesh, is := r.member(access.GroupVersion.Group, "TrafficTarget", o)
	if !is {
		return
	}
	to := o.Spec.Destination
	destination, ok := r.account(at, "spec.destination", to.Kind, to.Name, to.Namespace)
	if ok && destination.Namespace != name.Namespace {
		r.report(at, "spec.destination.namespace", model.CodeInvalidField,
			"the destination is in namespace %s, and only a TrafficTarget of its own namespace has effect", destination.Namespace)
		ok = false
	}
	allowed := r.rules(at, name.Namespace, destination, o.Spec.Rules)
	only, err := port(o.Annotations)
	if err != nil {
		r.report(at, "metadata.annotations["+keptPort+"]", model.CodeInvalidField, "%v; nothing is allowed", err)
		ok = false
	}
	if number, left := o.Annotations[leftPort]; left {
		r.warn(at, "metadata.annotations["+keptPort+"]", model.CodeInvalidField, "restricts the TrafficTarget to port %s, "+
			"as an older version of it did; the file that was applied last has no port: remove the annotation to allow all", number)
	}
	if _, kept := o.Annotations[keptSourcePorts]; kept {
		r.report(at, "metadata.annotations["+keptSourcePorts+"]", model.CodeFieldNotImplemented,
			"the ports of sources have no effect: their pods call from any port")
	}
	policy := model.AuthorizationPolicy{
		Key: model.Key{Mesh: mesh, Name: name.String()}, Workload: destination.String(), Origin: at,
	}
	var sources []types.NamespacedName
	for i, s := range o.Spec.Sources {
		source, valid := r.account(at, fmt.Sprintf("spec.sources[%d]", i), s.Kind, s.Name, s.Namespace)
		if valid {
			policy.Sources = append(policy.Sources, identityOf(r.trustDomain, source))
			sources = append(sources, source)
		}
	}
	if len(o.Spec.Sources) == 0 {
		r.report(at, "spec.sources", model.CodeInvalidField, "is empty, so that nobody is allowed")
	}
	if !ok || len(policy.Sources) == 0 {
		return
	}
	if len(allowed.matches) > 0 {
		requests := policy
		requests.Matches, requests.Ports = allowed.matches, only
		r.emit(requests, destination, sources)
	}
	if allowed.restrict(only); allowed.streams {
		policy.Streams, policy.Ports = true, allowed.ports
		r.emit(policy, destination, sources)
	}
}

// emit emits a policy that allows sources to call a destination.
func (r *targetRule) emit(policy model.AuthorizationPolicy, destination types.NamespacedName,
	sources []types.NamespacedName) {
	r.policies.Emit(policy)
	for _, source := range sources {
		r.grants.Emit(destination, grant{source, policy.Streams, policy.Ports})
	}
}

// allowance is what the rules of a TrafficTarget allow: HTTP requests, and connections without HTTP.
type allowance struct {
	matches []model.Match
	streams bool
	ports   []uint16 // none means all
}

// restrict removes the streams to other ports than these; none means all.
func (a *allowance) restrict(only []uint16) {
	switch {
	case len(only) == 0:
	case len(a.ports) == 0:
		a.ports = only
	default:
		a.ports = slices.DeleteFunc(a.ports, func(p uint16) bool { return !slices.Contains(only, p) })
		a.streams = a.streams && len(a.ports) > 0
	}
}

// rules returns what rules allow. A rule that is invalid allows nothing, and the others apply.
func (r *targetRule) rules(at model.Origin, namespace string, destination types.NamespacedName,
	all []access.Rule) (out allowance) {
	anyPort := false
	for i, rule := range all {
		path := fmt.Sprintf("spec.rules[%d]", i)
		name := types.NamespacedName{Namespace: namespace, Name: rule.Name}
		switch rule.Kind {
		case kindHTTPRouteGroup:
			if g, known := r.routeGroup(at, path+".name", name, r.httpGroups); known {
				out.matches = append(out.matches, r.matches(at, path, name, g, rule.Matches)...)
			}
		case kindTCPRoute:
			if t, known := r.tcpRoutes.ReadFirst(name); known {
				out.streams = out.streams || !t.nothing
				out.ports = append(out.ports, t.ports...)
				r.comparePorts(t, destination)
				anyPort = anyPort || len(t.ports) == 0 && !t.nothing
				continue
			}
			r.report(at, path+".name", model.CodeReferenceNotFound, "%s %s does not exist", rule.Kind, name)
		default:
			r.report(at, path+".kind", model.CodeInvalidField, "%q is neither %s nor %s; the rule has no effect", rule.Kind,
				kindHTTPRouteGroup, kindTCPRoute)
		}
	}
	if len(all) == 0 {
		r.report(at, "spec.rules", model.CodeInvalidField, "is empty, so that nothing is allowed")
	}
	slices.Sort(out.ports)
	if out.ports = slices.Compact(out.ports); anyPort {
		out.ports = nil
	}
	return out
}

// comparePorts reports the ports of a TCPRoute that are only those of a Service before the pods of the destination.
func (r *targetRule) comparePorts(t *tcpRoute, destination types.NamespacedName) {
	uses := r.listened.Read(destination)
	for _, port := range t.ports {
		if slices.ContainsFunc(uses, func(u portUse) bool { return u.port == port }) {
			continue
		}
		for _, u := range uses {
			service, known := r.services.ReadFirst(u.service)
			if !known || u.index >= len(service.Spec.Ports) || service.Spec.Ports[u.index].Port != int32(port) {
				continue
			}
			r.report(t.origin, "spec.matches.ports", model.CodeInvalidField,
				"%d is a port of Service %s, and a port of pods is required: those of ServiceAccount %s listen on %d", port,
				u.service, destination, u.port)
			break
		}
	}
}

// matches returns the requests of the named matches of a group; without names, those of all.
func (r *targetRule) matches(at model.Origin, path string, name types.NamespacedName, g *httpGroup,
	names []string) []model.Match {
	var out []model.Match
	if len(names) == 0 {
		names = g.names
	}
	for i, n := range names {
		if !slices.Contains(g.names, n) {
			text := fmt.Sprintf("%q is not a match of %s %s", n, kindHTTPRouteGroup, name)
			if meant, found := spelling.Meant(n, g.names); found {
				text += fmt.Sprintf("; did you mean %q?", meant)
			}
			r.report(at, fmt.Sprintf("%s.matches[%d]", path, i), model.CodeReferenceNotFound, "%s", text)
			continue
		}
		out = append(out, g.matches[n]...)
	}
	return out
}
