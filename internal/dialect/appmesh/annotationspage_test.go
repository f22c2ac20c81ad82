package appmesh

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/spelling"
)

// pageRows returns the code in the given column of the rows of a section of docs/annotations.md.
func pageRows(t *testing.T, section string, column int) []string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/annotations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(page), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("docs/annotations.md has no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	code := regexp.MustCompile("`[^`]+`")
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) <= column+1 {
			continue
		}
		for _, found := range code.FindAllString(cells[column+1], -1) {
			out = append(out, strings.Trim(found, "`"))
		}
	}
	slices.Sort(out)
	return out
}

// leaves lists the paths of the values that are not objects with settings.
func leaves(prefix string, value any) []string {
	object, is := value.(map[string]any)
	if !is || len(object) == 0 {
		return []string{prefix}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		out = append(out, leaves(prefix+"."+key, object[key])...)
	}
	return out
}

// Each annotation, variable and setting has one row, and no row is of another one.
func TestPageOfAnnotationsIsComplete(t *testing.T) {
	annotations := slices.Concat(readAnnotations, writtenAnnotations, legacyAnnotations,
		slices.Collect(maps.Keys(unsupportedAnnotations)))
	variables := slices.Concat(readVariables, setVariables, slices.Collect(maps.Keys(unsupportedVariables)))
	text, err := json.Marshal(Dialect{}.Values())
	if err != nil {
		t.Fatal(err)
	}
	var defaults map[string]any
	if err := json.Unmarshal(text, &defaults); err != nil {
		t.Fatal(err)
	}
	settings := leaves("appmesh", defaults)
	own := slices.DeleteFunc(pageRows(t, "Settings", 1), func(s string) bool { return !strings.HasPrefix(s, "appmesh.") })
	for name, c := range map[string]struct{ code, page []string }{
		"annotations": {annotations, pageRows(t, "Annotations of pods", 0)},
		"variables":   {variables, pageRows(t, "Variables of the sidecar", 0)},
		"settings":    {settings, own},
	} {
		slices.Sort(c.code)
		if !slices.Equal(c.code, c.page) {
			t.Errorf("%s: the code has\n%s\nthe page has\n%s", name, strings.Join(c.code, "\n"), strings.Join(c.page, "\n"))
		}
	}
}

// The code reads each variable of its list, and no other one.
func TestReadVariablesAreListed(t *testing.T) {
	source, err := os.ReadFile("proxysettings.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"((?:[A-Z0-9]+_)+[A-Z0-9]+)"`).FindAllStringSubmatch(string(source), -1)
	got := []string{varSamplingRate, varResources}
	for _, f := range found {
		got = append(got, f[1])
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, readVariables) {
		t.Errorf("proxysettings.go has\n%s\nreadVariables has\n%s", strings.Join(got, "\n"), strings.Join(readVariables, "\n"))
	}
}

func TestNearestAnnotation(t *testing.T) {
	for text, want := range map[string]string{
		"port": "ports", "SidecarEnvJSON": "sidecarEnvJson", "cpulimits": "cpuLimit", "sdsEnabled": "sds", "": "sds",
		strings.Repeat("x", 1000): spelling.Nearest(strings.Repeat("x", 64), readAnnotations),
	} {
		if got := spelling.Nearest(text, readAnnotations); got != want {
			t.Errorf("%.20q: got %s, want %s", text, got, want)
		}
	}
}

// The defaults of the chart are those of the code.
func TestDefaultsOfChart(t *testing.T) {
	chart, err := os.ReadFile("../../../charts/anymesh/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct{ AppMesh map[string]any }
	if err := yaml.Unmarshal(chart, &values); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Dialect{}.Values())
	if err != nil {
		t.Fatal(err)
	}
	var defaults map[string]any
	if err := json.Unmarshal(text, &defaults); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults, values.AppMesh); diff != "" {
		t.Errorf("- code + chart:\n%s", diff)
	}
}
