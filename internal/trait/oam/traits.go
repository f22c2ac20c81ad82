package oam

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// traitDefinition returns the definition of a trait. That of Routes need not be in the cluster.
func (a *application) traitDefinition(trait *unstructured.Unstructured, field string) (core.TraitDefinitionSpec,
	*provider.Reason) {
	name := trait.GetLabels()[traitTypeLabel]
	isNamed := name != ""
	if !isNamed {
		name = a.resourceName(trait)
	}
	if found := discovery.FindDefinition(a, "TraitDefinition", a.Namespace, name, a.options); found != nil {
		var definition core.TraitDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &definition); err != nil {
			return definition.Spec, &provider.Reason{Reason: "InvalidDefinition", Message: fmt.Sprintf("TraitDefinition %s cannot be "+
				"read: %v; correct the field", name, err)}
		}
		return definition.Spec, nil
	}
	if isNamed {
		return core.TraitDefinitionSpec{}, &provider.Reason{Reason: "DefinitionNotFound", Message: fmt.Sprintf(
			"%s: TraitDefinition.core.oam.dev %q not found; create it, or remove the label %s", field, name, traitTypeLabel)}
	}
	if trait.GroupVersionKind().GroupKind() == standard.RouteKind.GroupKind() {
		return core.TraitDefinitionSpec{WorkloadRefPath: "spec.workloadRef"}, nil
	}
	return core.TraitDefinitionSpec{}, nil
}

// resourceName returns PLURAL.GROUP of an object, and "" if the cluster does not have its kind.
func (a *application) resourceName(o *unstructured.Unstructured) string {
	resource, group := a.Resource(o.GroupVersionKind()), o.GroupVersionKind().Group
	if resource == "" || group == "" {
		return resource
	}
	return resource + "." + group
}

// applies returns a reason if a workload must not have a trait.
func (a *application) applies(definition core.TraitDefinitionSpec, trait *unstructured.Unstructured, w *workload,
	field string) *provider.Reason {
	allowed := definition.AppliesToWorkloads
	if len(allowed) > 0 && !a.matchesAny(allowed, w.object, workloadTypeLabel) {
		return &provider.Reason{Reason: "TraitNotApplicable", Message: fmt.Sprintf("%s: the TraitDefinition of %s does not allow "+
			"workloads of kind %s: it allows %s; remove the trait, or add the kind", field, trait.GetKind(), w.object.GetKind(),
			strings.Join(allowed, ", "))}
	}
	for _, other := range w.traits {
		if a.matchesAny(definition.ConflictsWith, other, traitTypeLabel) {
			return &provider.Reason{Reason: "TraitConflict", Message: fmt.Sprintf("%s: the TraitDefinition of %s does not allow the "+
				"trait %s %s besides; remove one", field, trait.GetKind(), other.GetKind(), other.GetName())}
		}
	}
	return nil
}

// matchesAny reports whether an object is one of those that a definition lists: by the name of its definition,
// PLURAL.GROUP with or without a version, *.GROUP, *, or labelSelector:SELECTOR.
func (a *application) matchesAny(list []string, o *unstructured.Unstructured, typeLabel string) bool {
	name, kind := a.resourceName(o), o.GroupVersionKind()
	for _, entry := range list {
		if text, ok := strings.CutPrefix(entry, "labelSelector:"); ok {
			if selector, err := labels.Parse(text); err == nil && selector.Matches(labels.Set(o.GetLabels())) {
				return true
			}
			continue
		}
		switch entry {
		case "*", name, name + "/" + kind.Version, "*." + kind.Group:
			return true
		}
		if t := o.GetLabels()[typeLabel]; t != "" && t == entry {
			return true
		}
	}
	return false
}
