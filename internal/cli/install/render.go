// Package install installs and uninstalls Anymesh.
//
// In: the Helm chart, the CRDs and user values. Out: manifests, applied by server-side apply until the control plane is
// ready. Helm and `anymesh install` render the same manifests, but for the hooks of Helm.
package install

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/api/crds"
	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/charts"
	"anymesh.dev/anymesh/internal/dialect"
)

// Options configure the manifests.
type Options struct {
	// Namespace is the namespace of the control plane.
	Namespace string
	// Values override the chart values; they are validated with the schema of the chart.
	Values map[string]any
	// SkipCRDs omits the CustomResourceDefinitions.
	SkipCRDs bool
}

// WithOptionalParts returns the options for the manifests of all parts, whatever was installed.
func (o Options) WithOptionalParts() Options {
	o.Values = util.CoalesceTables(map[string]any{
		"aggregator": map[string]any{"enabled": true, "apiService": true}, "dashboard": map[string]any{"enabled": true},
		"networkPolicy": map[string]any{"enabled": true},
		"podMonitor":    map[string]any{"enabled": true}, "prometheusRule": map[string]any{"enabled": true},
		"routeTrait": map[string]any{"enabled": true}, "ingress": map[string]any{
			"enabled": true, "autoscaling": map[string]any{"enabled": true},
			"gatewayAPI": map[string]any{"enabled": true},
		},
	}, o.Values)
	return o
}

// Manifests returns the objects to install in apply order: namespace, CRDs, others, webhook configurations.
func Manifests(o Options) ([]*unstructured.Unstructured, error) {
	// Uninstallation keeps the namespace: it has the authority that running sidecars trust.
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": o.Namespace, "annotations": map[string]any{keepAnnotation: "keep"}},
	}}
	out := []*unstructured.Unstructured{namespace}
	if !o.SkipCRDs {
		definitions, err := definitions()
		if err != nil {
			return nil, err
		}
		out = append(out, definitions...)
	}
	rendered, err := renderChart(o)
	if err != nil {
		return nil, err
	}
	return append(out, rendered...), nil
}

func definitions() ([]*unstructured.Unstructured, error) {
	all, err := dialect.Definitions(dialect.All())
	if err != nil {
		return nil, err
	}
	for _, group := range []string{core.GroupVersion.Group, standard.GroupVersion.Group} {
		ofRoutes, err := crds.OfGroup(group)
		if err != nil {
			return nil, err
		}
		all = append(all, ofRoutes...)
	}
	var out []*unstructured.Unstructured
	for _, crd := range all {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
		}
		delete(content, "status")
		object := &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
		out = append(out, object)
	}
	return out, nil
}

func renderChart(o Options) ([]*unstructured.Unstructured, error) {
	out, err := renderTemplates(o)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, isHook)
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return out, nil
}

// Hooks returns the objects that only Helm creates, as steps of its operations.
func Hooks(o Options) ([]*unstructured.Unstructured, error) {
	all, err := renderTemplates(o)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(o *unstructured.Unstructured) bool { return !isHook(o) }), nil
}

// renderTemplates returns the objects of all templates, with the hooks of Helm.
func renderTemplates(o Options) ([]*unstructured.Unstructured, error) {
	texts, err := renderTexts(o)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if path.Base(name) == notes {
			continue
		}
		objects, err := decode([]byte(texts[name]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

// renderTexts returns the outputs of all templates, by their path.
func renderTexts(o Options) (map[string]string, error) {
	loaded, values, err := load(o)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Render(loaded, values)
	if err != nil {
		if reason := refusal.FindStringSubmatch(err.Error()); reason != nil {
			return nil, fmt.Errorf("values: %s", reason[1])
		}
		return nil, fmt.Errorf("chart: %w", err)
	}
	return texts, nil
}

// chartFiles returns the files of the chart with all dialects. It decodes the definitions of their kinds once.
var chartFiles = sync.OnceValues(func() ([]*archive.BufferedFile, error) {
	var files []*archive.BufferedFile
	err := fs.WalkDir(charts.Anymesh, "anymesh", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(charts.Anymesh, file)
		if err != nil {
			return err
		}
		content, err = withDialects(trimmed(file), content, dialect.All())
		files = append(files, &archive.BufferedFile{Name: trimmed(file), Data: content})
		return err
	})
	return files, err
})

// load returns the chart and the values of its templates.
func load(o Options) (*chart.Chart, common.Values, error) {
	files, err := chartFiles()
	if err != nil {
		return nil, nil, fmt.Errorf("chart: %w", err)
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, nil, fmt.Errorf("chart: %w", err)
	}
	release := common.ReleaseOptions{Name: "anymesh", Namespace: o.Namespace, Revision: 1, IsInstall: true}
	values, err := util.ToRenderValues(loaded, o.Values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, nil, fmt.Errorf("values: %w", err)
	}
	return loaded, values, nil
}

// refusal matches an error of the template that checks values; the group is its text without the place.
var refusal = regexp.MustCompile(`\(anymesh/templates/refusals\.yaml:[0-9:]+\): (.*)`)

// notes is the template of the text that Helm prints; it has no object.
const notes = "NOTES.txt"

// isHook reports whether only Helm creates an object. Delete has this step itself.
func isHook(o *unstructured.Unstructured) bool { return o.GetAnnotations()["helm.sh/hook"] != "" }

// rank orders namespaces first, and webhook configurations last: the API server calls webhooks as soon as they exist.
func rank(o *unstructured.Unstructured) int {
	switch {
	case strings.HasSuffix(o.GetKind(), "WebhookConfiguration"), o.GetKind() == "APIService":
		return 2
	case o.GetKind() == "Deployment":
		return 1
	case o.GetKind() == "Namespace":
		return -1
	}
	return 0
}

// decode splits a file into its documents.
func decode(text []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, document := range strings.Split("\n"+string(text), "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		json, err := utilyaml.ToJSON([]byte(document))
		if err != nil {
			return nil, err
		}
		if string(json) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(json); err != nil {
			return nil, err
		}
		out = append(out, object)
	}
	return out, nil
}

// YAML encodes the objects as a multi-document YAML stream.
func YAML(objects []*unstructured.Unstructured) ([]byte, error) {
	var out strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return []byte(out.String()), nil
}
