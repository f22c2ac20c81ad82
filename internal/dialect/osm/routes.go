package osm

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// httpGroup is an HTTPRouteGroup.
type httpGroup struct {
	names []string
	// matches are those of each name; none if the match is invalid.
	matches map[string][]model.Match
}

// all returns the requests of all matches.
func (g *httpGroup) all() (out []model.Match) {
	for _, n := range g.names {
		out = append(out, g.matches[n]...)
	}
	return out
}

// tcpRoute is a TCPRoute; without ports, it is every port.
type tcpRoute struct {
	ports []uint16
	// nothing is true if no port is valid.
	nothing bool
	origin  model.Origin
}

// addRoutes adds the rules for HTTPRouteGroups and TCPRoutes.
func (r *rules) addRoutes(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, kindHTTPRouteGroup)
	incremental.Each(rule, store.Of[*specs.HTTPRouteGroup](objects), &httpGroupRule{
		r.readsPolicies(rule), incremental.Emits(rule, r.httpGroups),
	}, (*httpGroupRule).evaluate)
	rule = incremental.NewRule(g, kindTCPRoute)
	incremental.Each(rule, store.Of[*specs.TCPRoute](objects), &tcpRouteRule{
		r.readsPolicies(rule), incremental.Emits(rule, r.tcpRoutes),
	}, (*tcpRouteRule).evaluate)
}

type httpGroupRule struct {
	policyRule
	groups *incremental.Emitter[types.NamespacedName, *httpGroup]
}

func (r *httpGroupRule) evaluate(name types.NamespacedName, all []*specs.HTTPRouteGroup) {
	at, _, is := r.member(specs.GroupVersion.Group, kindHTTPRouteGroup, all[0])
	if !is {
		return
	}
	out := &httpGroup{matches: map[string][]model.Match{}}
	for i, m := range all[0].Spec.Matches {
		path := fmt.Sprintf("spec.matches[%d]", i)
		if slices.Contains(out.names, m.Name) {
			r.findings.Emit(model.NewFinding(at.At(path+".name"), model.CodeNameConflict,
				fmt.Sprintf("another match of the group has the name %q; both apply", m.Name)))
		} else {
			out.names = append(out.names, m.Name)
		}
		matches, finding := matchesOf(m, at.At(path))
		if finding != nil {
			r.findings.Emit(*finding)
		}
		out.matches[m.Name] = append(out.matches[m.Name], matches...)
	}
	r.groups.Emit(name, out)
}

// matchesOf returns the requests of a match, one item for each method. A match with an invalid condition has none.
func matchesOf(m specs.HTTPMatch, at model.Origin) ([]model.Match, *model.Finding) {
	var out model.Match
	invalid := func(field, format string, args ...any) ([]model.Match, *model.Finding) {
		f := model.NewFinding(at.At(at.Path+"."+field), model.CodeInvalidField,
			fmt.Sprintf(format, args...)+"; no request matches")
		return nil, &f
	}
	if m.PathRegex != "" {
		if _, err := regexp.Compile(m.PathRegex); err != nil {
			return invalid("pathRegex", "%q is not a regular expression: %v", m.PathRegex, err)
		}
		out.Path = model.StringMatch{Kind: model.Regex, Value: m.PathRegex}
	}
	for i, condition := range m.Headers.Conditions {
		if m.Headers.IsList && len(condition) != 1 {
			return invalid(fmt.Sprintf("headers[%d]", i), "has %d headers; each entry of the list has one", len(condition))
		}
		for _, name := range slices.Sorted(maps.Keys(condition)) {
			if _, err := regexp.Compile(condition[name]); err != nil {
				return invalid("headers", "%q for header %s is not a regular expression: %v", condition[name], name, err)
			}
			out.Headers = append(out.Headers, model.FieldMatch{Name: name, Kind: model.Regex, Value: condition[name]})
		}
	}
	if len(m.Methods) == 0 || slices.Contains(m.Methods, "*") {
		return []model.Match{out}, nil
	}
	var all []model.Match
	for _, method := range sorted(m.Methods) {
		out.Method = method
		all = append(all, out)
	}
	return all, nil
}

type tcpRouteRule struct {
	policyRule
	routes *incremental.Emitter[types.NamespacedName, *tcpRoute]
}

func (r *tcpRouteRule) evaluate(name types.NamespacedName, all []*specs.TCPRoute) {
	at, _, is := r.member(specs.GroupVersion.Group, kindTCPRoute, all[0])
	if !is {
		return
	}
	ports := all[0].Spec.Matches.Ports
	out := &tcpRoute{origin: at}
	for i, port := range ports {
		if port < 1 || port > 65535 {
			r.findings.Emit(model.NewFinding(at.At(fmt.Sprintf("spec.matches.ports[%d]", i)), model.CodeInvalidField,
				fmt.Sprintf("%d is not a port from 1 to 65535", port)))
			continue
		}
		out.ports = append(out.ports, uint16(port))
	}
	slices.Sort(out.ports)
	out.ports = slices.Compact(out.ports)
	out.nothing = len(ports) > 0 && len(out.ports) == 0
	r.routes.Emit(name, out)
}
