package lint

import (
	"fmt"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// hiddenRoutes returns findings about routes that get no request, because one that takes precedence in the same object
// matches all of theirs.
func hiddenRoutes(state *engine.State) []model.Finding {
	var out []model.Finding
	for _, router := range state.Index.Model.Routers {
		for i, route := range router.Routes {
			for _, first := range router.Routes[:i] {
				if first.Origin.Object() == route.Origin.Object() && first.Origin.Path != route.Origin.Path && hides(first, route) {
					out = append(out, model.NewFinding(route.Origin, model.CodeHiddenRoute, fmt.Sprintf(
						"no request reaches the route: %s takes precedence, and matches all that this route matches", nameOf(first))))
					break
				}
			}
		}
	}
	return out
}

func hides(first, route model.Route) bool {
	return first.Protocol == route.Protocol && (first.Port == 0 || first.Port == route.Port) &&
		first.Match.Covers(route.Match)
}

func nameOf(r model.Route) string {
	if r.Name == "" {
		return "the one at " + r.Origin.Path
	}
	return "route " + r.Name
}
