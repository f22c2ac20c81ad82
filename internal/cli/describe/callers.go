package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// callers finds the workloads that can reach something. matches is called for each service that a workload can reach,
// with a nil destination, and for each destination of its routes with a weight above 0.
func callers(s *engine.State, mesh string, matches func(model.Binding, *model.Destination) bool) []Caller {
	var out []Caller
	for key, view := range s.Views {
		if key.Mesh != mesh {
			continue
		}
		for _, o := range view.Outbound {
			for _, b := range o.Bindings {
				caller := Caller{Workload: key, Object: view.Workload.Origin.Object(), Service: b.Service, Port: o.Port}
				if matches(b, nil) {
					out = append(out, caller)
				}
				for _, r := range b.Routes {
					out = append(out, routeCallers(view, b, r, caller, matches)...)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Caller) int {
		return cmp.Or(a.Workload.Compare(b.Workload), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.Route, b.Route))
	})
	return out
}

func routeCallers(view *engine.View, b model.Binding, r model.Route, caller Caller,
	matches func(model.Binding, *model.Destination) bool) []Caller {
	var out []Caller
	var total uint32
	for _, t := range r.Action.Destinations {
		total += t.Weight
	}
	for _, t := range r.Action.Destinations {
		if d, ok := view.Destination(t.Destination); ok && t.Weight > 0 && matches(b, &d) {
			caller.Route, caller.Share = r.Name, phrases.Share(t.Weight, total)
			out = append(out, caller)
		}
	}
	return out
}

// findingsAbout returns the findings about a set of objects.
func findingsAbout(s *engine.State, about map[model.ObjectRef]bool) []model.Finding {
	var out []model.Finding
	for _, f := range s.Findings {
		if about[f.Object] {
			out = append(out, f)
		}
	}
	return out
}

// timeouts describes timeouts. Protocols without requests have no request timeout.
func timeouts(p model.Protocol, t model.Timeouts) string {
	text := phrases.Timeouts(t)
	if !p.Requests() {
		_, text, _ = strings.Cut(text, ", ")
	}
	return text
}

func portName(port uint16, p model.Protocol) string { return fmt.Sprintf("%d %s", port, p) }
