package observe

import (
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Translation is the translation of the objects of a case.
type Translation struct {
	State *engine.State
	// Rendered contains the sidecar resources of each workload.
	Rendered map[model.Key][]sidecar.Resource
	// Findings contains the findings of the dialects, views and drivers.
	Findings []model.Finding
}

// views translates the objects without rendering.
func (c *Case) views() Translation {
	return Translation{State: engine.Compute(c.dialects, engine.Settings{}, c.Objects)}
}

// translate translates the objects as the control plane does, for a driver. What is rendered has no trace of a feature,
// unless it is empty.
func (c *Case) translate(driver string, renderer sidecar.Renderer, missing model.Feature) Translation {
	m := c.views()
	m.Rendered = map[model.Key][]sidecar.Resource{}
	m.Findings = slices.Clone(m.State.Findings)
	for key, view := range m.State.Views {
		rendered, resolve := view.View, resolveDestination(m.State.Index.ResolvedDestination)
		if missing != "" {
			rendered, resolve = renderedWithout(missing, rendered, resolve)
		}
		resources, findings := sidecar.Configuration(renderer, rendered.InAllTrustDomains(), resolve)
		m.Rendered[key] = resources
		m.Findings = append(m.Findings, findings...)
		m.Findings = append(m.Findings, model.Unsupported(driver, view.Needs(), renderer.Supports())...)
	}
	model.SortFindings(m.Findings)
	return m
}

// View returns the view of a workload by the name of its object or by its own name.
func (m Translation) View(name string) (*model.View, error) {
	var found *model.View
	for _, v := range m.State.Views {
		if v.Workload.Name != name && v.Workload.Origin.Object().Name != name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s and %s have the same name %s", found.Workload.Key, v.Workload.Key, name)
		}
		found = v.View
	}
	if found == nil {
		return nil, fmt.Errorf("no workload has the name %s", name)
	}
	return found, nil
}
