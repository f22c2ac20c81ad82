package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Generated sections of a case.
const (
	modelSection    = "model.yaml"
	findingsSection = "findings.txt"
	envoySection    = "envoy/%s.yaml"
)

// translated translates a case for Envoy.
func (c *Case) translated() Translation { return c.translate(envoy.Name, envoy.Driver{}, "") }

// shown maps the workloads whose configuration for Envoy the case includes to resource names; no names means all
// resources.
func (c *Case) shown() map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(c.Comment) {
		if shown, ok := strings.CutPrefix(line, "# envoy: "); ok {
			words := strings.Fields(shown)
			out[words[0]] = words[1:]
		}
	}
	return out
}

// sections returns the generated sections of the case.
func (c *Case) sections(m Translation) ([]txtar.File, error) {
	shape, err := json.Marshal(m.State.Index.Model)
	if err != nil {
		return nil, err
	}
	text, err := readable(shape)
	if err != nil {
		return nil, err
	}
	out := []txtar.File{{Name: modelSection, Data: text}, {Name: findingsSection, Data: lines(m.Findings)}}
	shown := c.shown()
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		view, err := m.View(name)
		if err != nil {
			return nil, fmt.Errorf("# envoy: %s: %w", name, err)
		}
		text, err := show(m.Rendered[view.Workload.Key], shown[name])
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
