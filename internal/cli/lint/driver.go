package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// driverFindings returns the findings of the sidecar drivers of each workload: unsupported features and unknown
// drivers.
func driverFindings(state *engine.State, o Options) []model.Finding {
	if o.Drivers == nil {
		return nil
	}
	var out []model.Finding
	for key, view := range state.Views {
		for _, class := range state.Drivers(key, o.Driver) {
			renderer, known := o.Drivers[class]
			if !known {
				out = append(out, model.NewFinding(view.Workload.Origin, model.CodeRefused, fmt.Sprintf(
					"pods of this workload cannot be created: annotation %s names the unknown sidecar driver %q; known drivers are %s",
					sidecar.ClassAnnotation, class, strings.Join(slices.Sorted(maps.Keys(o.Drivers)), ", "))))
				continue
			}
			_, findings := sidecar.Configuration(renderer, view.View, noDestination)
			out = slices.Concat(out, findings, model.Unsupported(class, view.Needs(), renderer.Supports()))
		}
	}
	return model.SortFindings(out)
}

// noDestination omits destinations: they have no findings.
func noDestination(model.Key) (model.ResolvedDestination, bool) {
	return model.ResolvedDestination{}, false
}
