package lint_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/cli/lint"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/model"
)

// limitOf is a field with values that its schema refuses and takes; absent stands for leaving it out, full for what
// fullObjects have.
type limitOf struct {
	kind, path        string
	refused, accepted []any
}

type special string

const absent, full = special("absent"), special("full")

func text(n int) string { return strings.Repeat("x", n) }

func times(n int, item string) []any {
	out := []any{}
	for range n {
		var v any
		if err := yaml.Unmarshal([]byte(item), &v); err != nil {
			panic(err)
		}
		out = append(out, v)
	}
	return out
}

func list(v ...any) []any { return v }

// from is what is accepted from low to high, and refused just outside; below 0 there is no high.
func from(low, high int) (refused, accepted []any) {
	refused, accepted = list(low-1), list(low)
	if high >= 0 {
		refused, accepted = append(refused, high+1), append(accepted, high)
	}
	return refused, accepted
}

func lengths(low, high int) (refused, accepted []any) {
	if low > 0 {
		refused = append(refused, text(low-1))
	}
	return append(refused, text(high+1)), list(text(low), text(high))
}

func items(low, high int, item string) (refused, accepted []any) {
	refused, accepted = list(times(low-1, item)), list(times(low, item))
	if high >= 0 {
		refused, accepted = append(refused, times(high+1, item)), append(accepted, times(high, item))
	}
	return refused, accepted
}

func oneOf(values ...any) (refused, accepted []any) { return list("other", ""), values }

// TestLimitsOfTheSchema holds each limit that App Mesh's schemas state against values on both sides of it, and fields
// that they do not have against their absence.
func TestLimitsOfTheSchema(t *testing.T) {
	bases := fullObjects(t)
	type trial struct {
		row     limitOf
		value   any
		refused bool
	}
	trials := map[string]trial{}
	var documents strings.Builder
	add := func(row limitOf, value any, refused bool) {
		name := "x" + strconv.Itoa(len(trials))
		trials[name] = trial{row, value, refused}
		o := setField(t, clone(t, bases[row.kind]), row.path, value)
		maps.Copy(o, map[string]any{
			"apiVersion": "appmesh.k8s.aws/v1beta2", "kind": row.kind,
			"metadata": map[string]any{"name": name, "namespace": "a"},
		})
		object, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		documents.WriteString("---\n" + string(object) + "\n")
	}
	for _, row := range limits() {
		for _, v := range row.refused {
			add(row, v, true)
		}
		for _, v := range row.accepted {
			add(row, v, false)
		}
	}
	read, faults, err := manifest.Read([]string{"-"}, strings.NewReader(documents.String()))
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	report, err := lint.Run(read, faults, lint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]map[string]string{}
	for _, f := range report.Findings {
		if f.Code == model.CodeSchema || f.Code == model.CodeUnknownField || f.Code == model.CodeUnreadable {
			if said[f.Object.Name] == nil {
				said[f.Object.Name] = map[string]string{}
			}
			said[f.Object.Name][f.Path] = f.Text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(trials)) {
		c, got := trials[name], said[name]
		shown := fmt.Sprintf("%s %s = %.60v", c.row.kind, c.row.path, c.value)
		_, named := got[c.row.path]
		switch {
		case c.refused && (!named || len(got) != 1):
			t.Errorf("%s: got %v, want one refusal of this field", shown, got)
		case !c.refused && len(got) > 0:
			t.Errorf("%s: got %v, want it accepted", shown, got)
		}
	}
}

// fullObjects give each kind's fullSpecs, with all that is alike filled in, and a status.
func fullObjects(t *testing.T) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for kind, text := range fullSpecs {
		var spec map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
			t.Fatal(kind, err)
		}
		out[kind] = map[string]any{"spec": spec}
		if kind != "BackendGroup" { // whose status is empty
			out[kind]["status"] = map[string]any{
				"conditions": list(map[string]any{"type": kind + "Active", "status": "True"}),
			}
		}
	}
	for _, a := range alikes {
		setField(t, out[a.kind], a.path, getField(t, clone(t, out[a.of]), a.as))
	}
	return out
}

func clone(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

var step = regexp.MustCompile(`[^.\[\]]+`)

// look gives the value of a path. Everything on the way must be there.
func getField(t *testing.T, object map[string]any, path string) any {
	t.Helper()
	var at any = object
	for _, name := range step.FindAllString(path, -1) {
		switch here := at.(type) {
		case map[string]any:
			at = here[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(here) {
				t.Fatalf("%s: no element %s", path, name)
			}
			at = here[n]
		}
		if at == nil {
			t.Fatalf("%s: the full object has nothing at %s", path, name)
		}
	}
	return at
}

// place sets the field of a path, or removes it. Everything on the way must be there.
func setField(t *testing.T, object map[string]any, path string, value any) map[string]any {
	t.Helper()
	var at any = object
	steps := step.FindAllString(path, -1)
	for i, name := range steps {
		last := i == len(steps)-1
		switch here := at.(type) {
		case map[string]any:
			switch {
			case last && value == any(full):
			case last && value == any(absent):
				delete(here, name)
			case last:
				here[name] = value
			default:
				at = here[name]
			}
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(here) {
				t.Fatalf("%s: no element %s", path, name)
			}
			if last && value != any(full) {
				here[n] = value
			} else {
				at = here[n]
			}
		default:
			t.Fatalf("%s: the full object has nothing at %s", path, name)
		}
	}
	return object
}
