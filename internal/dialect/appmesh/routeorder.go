package appmesh

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// prioritizedRoute is a route with its priority.
type prioritizedRoute struct {
	model.Route
	priority *int64
}

// sortRoutes sorts routes by precedence: by priority, 0 first and unset last; of gateways, then exact host names, ends
// of host names from long to short, and routes without a host name; then exact paths, regular expressions,
// prefixes from long to short, and routes without a path; then by number of conditions, most first; then by name. The
// order in the manifest is not significant.
func sortRoutes(routes []prioritizedRoute) []model.Route {
	slices.SortStableFunc(routes, func(a, b prioritizedRoute) int {
		return cmp.Or(
			cmp.Compare(priorityRank(a.priority), priorityRank(b.priority)),
			compareHosts(a.Match.Hosts, b.Match.Hosts),
			cmp.Compare(pathRank(a.Match.Path.Kind), pathRank(b.Match.Path.Kind)),
			cmp.Compare(len(b.Match.Path.Value), len(a.Match.Path.Value)),
			cmp.Compare(conditionCount(b.Route), conditionCount(a.Route)),
			strings.Compare(a.Name, b.Name),
		)
	})
	var out []model.Route
	for _, r := range routes {
		out = append(out, r.Route)
	}
	return out
}

func priorityRank(priority *int64) int64 {
	if priority == nil {
		return math.MaxInt64
	}
	return *priority
}

func pathRank(kind model.MatchKind) int {
	return slices.Index([]model.MatchKind{model.Exact, model.Regex, model.Prefix, ""}, kind)
}

// conditionCount returns the number of conditions of a route, without its path.
func conditionCount(r model.Route) int {
	n := len(r.Match.Headers) + len(r.Match.Query)
	for _, set := range []bool{r.Match.Method != "", r.Match.Scheme != "", r.Port != 0} {
		if set {
			n++
		}
	}
	return n
}

// compareHosts compares the host names of routes of gateways, at most one each: the more specific one comes first.
func compareHosts(a, b []string) int {
	rank := func(hosts []string) (kind, length int) {
		switch {
		case len(hosts) == 0:
			return 2, 0
		case strings.HasPrefix(hosts[0], "*"):
			return 1, -len(hosts[0])
		}
		return 0, 0
	}
	aKind, aLength := rank(a)
	bKind, bLength := rank(b)
	return cmp.Or(cmp.Compare(aKind, bKind), cmp.Compare(aLength, bLength))
}
