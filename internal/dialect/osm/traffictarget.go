package osm

import (
	"fmt"
	"slices"

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
		membership: r.readsMembership(rule), trustDomain: r.dialect.trustDomain(),
		httpGroups: incremental.Reads(rule, r.httpGroups), tcpRoutes: incremental.Reads(rule, r.tcpRoutes),
		policies: r.out.EmitsAuthorizationPolicies(rule), members: incremental.Emits(rule, r.out.Members),
		findings: r.out.EmitsFindings(rule),
	}, (*targetRule).evaluate)
}

// targetRule emits the policies of TrafficTargets.
type targetRule struct {
	membership
	trustDomain string
	httpGroups  *incremental.Reader[types.NamespacedName, *httpGroup]
	tcpRoutes   *incremental.Reader[types.NamespacedName, *tcpRoute]
	policies    store.Output[model.Key, model.AuthorizationPolicy]
	members     *incremental.Emitter[model.ObjectRef, string]
	findings    store.Output[model.ObjectRef, model.Finding]
}

func (r *targetRule) report(at model.Origin, path string, code model.Code, format string, args ...any) {
	r.findings.Emit(model.NewFinding(at.At(path), code, fmt.Sprintf(format, args...)))
}

func (r *targetRule) evaluate(name types.NamespacedName, all []*access.TrafficTarget) {
	o := all[0]
	at := originOf(access.GroupVersion.Group, "TrafficTarget", o)
	mesh, is := r.of(name.Namespace)
	if !is {
		r.report(at, "", model.CodeNoMesh, "namespace %s has no label %s", name.Namespace, monitoredLabel)
		return
	}
	r.members.Emit(at.Object(), mesh)
	destination, ok := r.subject(at, "spec.destination", o.Spec.Destination)
	if ok && destination.Namespace != name.Namespace {
		r.report(at, "spec.destination.namespace", model.CodeInvalidField,
			"the destination is in namespace %s, and only a TrafficTarget of its own namespace has effect", destination.Namespace)
		ok = false
	}
	allowed := r.rules(at, name.Namespace, o.Spec.Rules)
	policy := model.AuthorizationPolicy{
		Key: model.Key{Mesh: mesh, Name: name.String()}, Workload: destination.String(), Origin: at,
	}
	for i, s := range o.Spec.Sources {
		if source, valid := r.subject(at, fmt.Sprintf("spec.sources[%d]", i), s); valid {
			policy.Sources = append(policy.Sources, identityOf(r.trustDomain, source))
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
		requests.Matches = allowed.matches
		r.policies.Emit(requests)
	}
	if allowed.streams {
		policy.Streams, policy.Ports = true, allowed.ports
		r.policies.Emit(policy)
	}
}

// subject returns the account of a subject. It reports false, after a finding, if the subject is not one.
func (r *targetRule) subject(at model.Origin, path string, s access.Subject) (types.NamespacedName, bool) {
	switch {
	case s.Kind != kindServiceAccount:
		r.report(at, path+".kind", model.CodeInvalidField, "%q is not %s; it has no effect", s.Kind, kindServiceAccount)
	case s.Name == "":
		r.report(at, path+".name", model.CodeInvalidField, "is required; without it, the entry has no effect")
	case s.Namespace == "":
		r.report(at, path+".namespace", model.CodeInvalidField, "is required; without it, the entry has no effect")
	default:
		return types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, true
	}
	return types.NamespacedName{}, false
}

// allowance is what the rules of a TrafficTarget allow: HTTP requests, and connections without HTTP.
type allowance struct {
	matches []model.Match
	streams bool
	ports   []uint16 // none means all
}

// rules returns what rules allow. A rule that is invalid allows nothing, and the others apply.
func (r *targetRule) rules(at model.Origin, namespace string, all []access.Rule) (out allowance) {
	anyPort := false
	for i, rule := range all {
		path := fmt.Sprintf("spec.rules[%d]", i)
		name := types.NamespacedName{Namespace: namespace, Name: rule.Name}
		switch rule.Kind {
		case kindHTTPRouteGroup:
			if g, known := r.httpGroups.ReadFirst(name); known {
				out.matches = append(out.matches, r.matches(at, path, name, g, rule.Matches)...)
				continue
			}
		case kindTCPRoute:
			if t, known := r.tcpRoutes.ReadFirst(name); known {
				out.streams = out.streams || !t.nothing
				out.ports = append(out.ports, t.ports...)
				anyPort = anyPort || len(t.ports) == 0 && !t.nothing
				continue
			}
		default:
			r.report(at, path+".kind", model.CodeInvalidField, "%q is neither %s nor %s; the rule has no effect", rule.Kind,
				kindHTTPRouteGroup, kindTCPRoute)
			continue
		}
		r.report(at, path+".name", model.CodeReferenceNotFound, "%s %s does not exist", rule.Kind, name)
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
