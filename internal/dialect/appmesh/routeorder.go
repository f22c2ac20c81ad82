package appmesh

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// rankedRoute is a route before it has found its place.
type rankedRoute struct {
	model.Route
	priority *int64
}

// ordered puts routes into the order in which they are tried: by priority, 0 first and unset last; then exact paths,
// regular expressions, prefixes from the longest, and none; then more conditions before fewer; then by name, so that
// the order in the manifest never matters.
func ordered(routes []rankedRoute) []model.Route {
	slices.SortStableFunc(routes, func(a, b rankedRoute) int {
		return cmp.Or(
			cmp.Compare(rank(a.priority), rank(b.priority)),
			cmp.Compare(pathRank(a.Match.Path.Kind), pathRank(b.Match.Path.Kind)),
			cmp.Compare(len(b.Match.Path.Value), len(a.Match.Path.Value)),
			cmp.Compare(conditions(b.Route), conditions(a.Route)),
			strings.Compare(a.Name, b.Name),
		)
	})
	var out []model.Route
	for _, r := range routes {
		out = append(out, r.Route)
	}
	return out
}

func rank(priority *int64) int64 {
	if priority == nil {
		return math.MaxInt64
	}
	return *priority
}

func pathRank(kind model.MatchKind) int {
	return slices.Index([]model.MatchKind{model.Exact, model.Regex, model.Prefix, ""}, kind)
}

// conditions counts what a route demands besides its path.
func conditions(r model.Route) int {
	n := len(r.Match.Headers) + len(r.Match.Query)
	for _, set := range []bool{r.Match.Method != "", r.Match.Scheme != "", r.Port != 0} {
		if set {
			n++
		}
	}
	return n
}
