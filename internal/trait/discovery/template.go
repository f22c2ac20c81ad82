package discovery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"anymesh.dev/anymesh/internal/trait/fieldpath"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// podTemplate has the ports and labels of pods.
type podTemplate struct {
	ports  []port
	labels map[string]string
	// source names the object for people.
	source string
	// step is the step of discovery that found it.
	step string
}

// The labels of an application and its component.
const (
	appLabel       = "app.oam.dev/name"
	componentLabel = "app.oam.dev/component"
)

// template returns the PodTemplate of the workload. If it has no ports, the reason says why.
func (s *search) template() (podTemplate, *provider.Reason) {
	if s.found == nil {
		t, reason := s.findTemplate()
		s.found, s.notFound = &t, reason
	}
	return *s.found, s.notFound
}

// findTemplate returns the first PodTemplate with ports: that of the definition's path, that of the workload, or that
// of the objects that the workload owns.
func (s *search) findTemplate() (podTemplate, *provider.Reason) {
	if s.definition != nil {
		if path, _, _ := unstructured.NestedString(s.definition.Object, "spec", "podSpecPath"); path != "" {
			return s.templateAt(path)
		}
	}
	var without []string // sources without ports
	var portless podTemplate
	candidates := append([]*unstructured.Unstructured{s.workload}, s.children...)
	for _, o := range candidates {
		t, ok := templateOf(o)
		if o == s.workload {
			t.step = stepWorkload
		}
		switch {
		case !ok && o == s.workload && s.podspecable():
			without = append(without, t.source+" (spec.template is not a PodTemplate, although its definition has the label "+
				podspecableLabel+")")
		case !ok:
		case len(t.ports) > 0 && len(t.labels) == 0:
			return podTemplate{}, &provider.Reason{Reason: "NoPodLabels", Message: fmt.Sprintf("the PodTemplate of %s has no "+
				"labels, so that no Service can select its pods; add labels", t.source)}
		case len(t.ports) > 0:
			return t, nil
		default:
			without = append(without, t.source)
			if portless.labels == nil {
				portless = t
			}
		}
	}
	if t, ok := s.podsTemplate(candidates); ok && len(t.ports) > 0 && len(t.labels) > 0 {
		return t, nil
	} else if ok {
		without = append(without, t.source)
	}
	if len(without) == 0 {
		return portless, &provider.Reason{Reason: "NoPodTemplate", Message: fmt.Sprintf("failed to create the services: "+
			"neither %s nor the objects that it owns have a PodTemplate; add the kinds of its children to childResourceKinds "+
			"of a WorkloadDefinition, or set serviceName in the backendService of each rule", nameOf(s.workload))}
	}
	return portless, &provider.Reason{Reason: "NoPort", Message: fmt.Sprintf("failed to create the services: no port found in "+
		"%s; add ports to a container, or set the port in the backendService of each rule", strings.Join(without, ", "))}
}

// templateAt returns the template of a PodSpec in the workload. Its labels are those of the workload: those of the
// application, if it has some.
func (s *search) templateAt(text string) (podTemplate, *provider.Reason) {
	t := podTemplate{
		labels: ApplicationLabels(s.workload.GetLabels()), source: nameOf(s.workload) + " at " + text, step: stepWorkload,
	}
	path, err := fieldpath.Parse(text)
	if err != nil {
		return t, &provider.Reason{Reason: "InvalidDefinition", Message: fmt.Sprintf("WorkloadDefinition %s: "+
			"spec.podSpecPath: %v", s.definition.GetName(), err)}
	}
	value, _ := fieldpath.Get(s.workload.Object, path)
	podSpec, ok := value.(map[string]any)
	if !ok {
		return t, &provider.Reason{Reason: "NoPodSpec", Message: fmt.Sprintf("failed to create the services: %s has no PodSpec "+
			"at %s, the podSpecPath of WorkloadDefinition %s", nameOf(s.workload), text, s.definition.GetName())}
	}
	if t.ports = containerPorts(podSpec); len(t.ports) == 0 {
		return t, &provider.Reason{Reason: "NoPort", Message: fmt.Sprintf("failed to create the services: no port found in "+
			"%s; add ports to a container, or set the port in the backendService of each rule", t.source)}
	}
	if len(path) > 1 { // the PodSpec may be that of a PodTemplate, whose pods do not have the labels of the workload
		parent, _ := fieldpath.Get(s.workload.Object, path[:len(path)-1])
		template, _ := parent.(map[string]any)
		ofPods, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
		if len(ofPods) > 0 && !labels.SelectorFromSet(t.labels).Matches(labels.Set(ofPods)) {
			t.labels = ofPods
		}
	}
	if len(t.labels) == 0 {
		return podTemplate{}, &provider.Reason{Reason: "NoPodLabels", Message: fmt.Sprintf("%s has no labels, so that no "+
			"Service can select its pods; add labels to it and to its pods", nameOf(s.workload))}
	}
	return t, nil
}

// ApplicationLabels returns the labels of an application and component, or all labels if there are none.
func ApplicationLabels(all map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range []string{appLabel, componentLabel} {
		if value, ok := all[name]; ok {
			out[name] = value
		}
	}
	if len(out) == 0 {
		return maps.Clone(all)
	}
	return out
}

// templateOf returns the PodTemplate of an object, and whether it has one.
func templateOf(o *unstructured.Unstructured) (podTemplate, bool) {
	t := podTemplate{source: nameOf(o), step: stepChildren}
	if o.GroupVersionKind() == PodKind {
		t.labels = podLabels(o.GetLabels())
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		t.ports = containerPorts(spec)
		return t, true
	}
	for _, at := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		template, _, _ := unstructured.NestedMap(o.Object, at...)
		if containers, _, _ := unstructured.NestedSlice(template, "spec", "containers"); len(containers) > 0 {
			spec, _, _ := unstructured.NestedMap(template, "spec")
			t.ports = containerPorts(spec)
			t.labels, _, _ = unstructured.NestedStringMap(template, "metadata", "labels")
			return t, true
		}
	}
	return t, false
}

// podsTemplate returns the ports and the equal labels of the pods that the workload or its children own.
func (s *search) podsTemplate(owners []*unstructured.Unstructured) (podTemplate, bool) {
	var out podTemplate
	found := false
	for _, owner := range owners {
		if isLeaf(owner.GroupVersionKind()) {
			continue // its template is the better source
		}
		for _, pod := range s.Owned(PodKind, s.route.Namespace, owner.GetUID()) {
			t, _ := templateOf(pod)
			if !found {
				found, out = true, t
				out.source = "the pods of " + nameOf(owner)
				continue
			}
			maps.DeleteFunc(out.labels, func(name, value string) bool {
				other, ok := t.labels[name]
				return !ok || other != value
			})
		}
	}
	return out, found
}

// podLabels returns the labels of a pod without those that differ between pods of the same workload.
func podLabels(all map[string]string) map[string]string {
	out := maps.Clone(all)
	for _, name := range []string{
		"pod-template-hash", "controller-revision-hash", "pod-template-generation", "statefulset.kubernetes.io/pod-name",
		"apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index",
	} {
		delete(out, name)
	}
	return out
}

func nameOf(o *unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() }

// labelText is the text of labels as kubectl prints them.
func labelText(all map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return strings.Join(out, ",")
}
