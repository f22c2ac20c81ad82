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

// limitCase has values of a field that the schema rejects and accepts. absent removes the field; unchanged keeps the
// value in fullObjects.
type limitCase struct {
	kind, path     string
	invalid, valid []any
}

type marker string

const absent, unchanged = marker("absent"), marker("full")

func stringOfLength(n int) string { return strings.Repeat("x", n) }

func repeat(n int, item string) []any {
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

// intRange returns values for an integer from low to high: the first values outside of the range, and its limits. A
// negative high means no upper limit.
func intRange(low, high int) (invalid, valid []any) {
	invalid, valid = list(low-1), list(low)
	if high >= 0 {
		invalid, valid = append(invalid, high+1), append(valid, high)
	}
	return invalid, valid
}

func lengthRange(low, high int) (invalid, valid []any) {
	if low > 0 {
		invalid = append(invalid, stringOfLength(low-1))
	}
	return append(invalid, stringOfLength(high+1)), list(stringOfLength(low), stringOfLength(high))
}

func itemRange(low, high int, item string) (invalid, valid []any) {
	invalid, valid = list(repeat(low-1, item)), list(repeat(low, item))
	if high >= 0 {
		invalid, valid = append(invalid, repeat(high+1, item)), append(valid, repeat(high, item))
	}
	return invalid, valid
}

func enum(values ...any) (invalid, valid []any) { return list("other", ""), values }

// The App Mesh schemas accept the limits of each field and reject values outside of them. They reject unknown fields.
func TestSchemaLimits(t *testing.T) {
	bases := fullObjects(t)
	type trial struct {
		row     limitCase
		value   any
		invalid bool
	}
	trials := map[string]trial{}
	var documents strings.Builder
	add := func(row limitCase, value any, invalid bool) {
		name := "x" + strconv.Itoa(len(trials))
		trials[name] = trial{row, value, invalid}
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
	for _, row := range limitCases() {
		for _, v := range row.invalid {
			add(row, v, true)
		}
		for _, v := range row.valid {
			add(row, v, false)
		}
	}
	files, err := manifest.Read([]string{"-"}, strings.NewReader(documents.String()))
	if err != nil || len(files.Faults) > 0 {
		t.Fatal(err, files.Faults)
	}
	report, err := lint.Run(files, lint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	findings := map[string]map[string]string{}
	for _, f := range report.Findings {
		if f.Code == model.CodeSchema || f.Code == model.CodeUnknownField || f.Code == model.CodeUnreadable {
			if findings[f.Object.Name] == nil {
				findings[f.Object.Name] = map[string]string{}
			}
			findings[f.Object.Name][f.Path] = f.Text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(trials)) {
		c, got := trials[name], findings[name]
		t.Run(fmt.Sprintf("%s_%s=%.60v", c.row.kind, c.row.path, c.value), func(t *testing.T) {
			_, named := got[c.row.path]
			switch {
			case c.invalid && (!named || len(got) != 1):
				t.Errorf("got findings %v, want one about this field", got)
			case !c.invalid && len(got) > 0:
				t.Errorf("got findings %v, want none", got)
			}
		})
	}
}

// fullObjects returns an object of each kind with the spec in fullSpecs, the fields with shared limits, and a status.
func fullObjects(t *testing.T) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for kind, text := range fullSpecs {
		var spec map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
			t.Fatal(kind, err)
		}
		out[kind] = map[string]any{"spec": spec}
		if kind != "BackendGroup" { // its status has no fields
			out[kind]["status"] = map[string]any{
				"conditions": list(map[string]any{"type": kind + "Active", "status": "True"}),
			}
		}
	}
	for _, a := range allSharedLimits {
		setField(t, out[a.kind], a.path, getField(t, clone(t, out[a.sourceKind]), a.sourcePath))
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

var pathElement = regexp.MustCompile(`[^.\[\]]+`)

// getField returns the value at a path. All parents must exist.
func getField(t *testing.T, object map[string]any, path string) any {
	t.Helper()
	var at any = object
	for _, name := range pathElement.FindAllString(path, -1) {
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
			t.Fatalf("%s: the object has no field %s", path, name)
		}
	}
	return at
}

// setField sets or removes the value at a path. All parents must exist.
func setField(t *testing.T, object map[string]any, path string, value any) map[string]any {
	t.Helper()
	var at any = object
	steps := pathElement.FindAllString(path, -1)
	for i, name := range steps {
		last := i == len(steps)-1
		switch here := at.(type) {
		case map[string]any:
			switch {
			case last && value == any(unchanged):
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
			if last && value != any(unchanged) {
				here[n] = value
			} else {
				at = here[n]
			}
		default:
			t.Fatalf("%s: the object has no field %s", path, name)
		}
	}
	return object
}
