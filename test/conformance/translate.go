package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"

	_ "anymesh.dev/anymesh/internal/dialect/builtin" // cases use all built-in dialects
	"anymesh.dev/anymesh/internal/driver/envoy"
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

// Translate translates the objects as the control plane does.
func (c *Case) Translate() Translation { return c.translate(envoy.Driver{}) }

func (c *Case) translate(renderer sidecar.Renderer) Translation {
	m := Translation{Rendered: map[model.Key][]sidecar.Resource{}}
	m.State = engine.Compute(c.dialects, engine.Settings{}, c.Objects)
	m.Findings = slices.Clone(m.State.Findings)
	for key, view := range m.State.Views {
		resources, findings := sidecar.Configuration(renderer, view.View, m.State.Index.ResolvedDestination)
		m.Rendered[key] = resources
		m.Findings = append(m.Findings, findings...)
		m.Findings = append(m.Findings, model.Unsupported(envoy.Name, view.Needs(), renderer.Supports())...)
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

// Sections returns the generated sections of the case.
func (c *Case) Sections(m Translation) ([]txtar.File, error) {
	shape, err := json.Marshal(m.State.Index.Model)
	if err != nil {
		return nil, err
	}
	text, err := readable(shape)
	if err != nil {
		return nil, err
	}
	out := []txtar.File{{Name: modelSection, Data: text}, {Name: findingsSection, Data: lines(m.Findings)}}
	var shown []string
	for name := range c.Shown {
		shown = append(shown, name)
	}
	slices.Sort(shown)
	for _, name := range shown {
		view, err := m.View(name)
		if err != nil {
			return nil, fmt.Errorf("# envoy: %s: %w", name, err)
		}
		text, err := show(m.Rendered[view.Workload.Key], c.Shown[name])
		if err != nil {
			return nil, err
		}
		out = append(out, txtar.File{Name: fmt.Sprintf(envoySection, name), Data: text})
	}
	return out, nil
}

func lines(findings []model.Finding) []byte {
	var b bytes.Buffer
	for _, f := range findings {
		b.WriteString(f.String() + "\n")
	}
	return b.Bytes()
}

// show returns resources as text, sorted by type and name. Names restrict the resources.
func show(resources []sidecar.Resource, only []string) ([]byte, error) {
	type shown struct {
		Type     string          `json:"type"`
		Name     string          `json:"name"`
		Resource json.RawMessage `json:"resource"`
	}
	var all []shown
	for _, r := range resources {
		if len(only) > 0 && !slices.Contains(only, r.Name) {
			continue
		}
		message, err := envoy.Decode(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		body, err := protojson.Marshal(message)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		all = append(all, shown{strings.TrimPrefix(r.Type, "type.googleapis.com/"), r.Name, body})
	}
	slices.SortFunc(all, func(a, b shown) int { return strings.Compare(a.Type+" "+a.Name, b.Type+" "+b.Name) })
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return readable(text)
}
