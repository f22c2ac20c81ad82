package oam

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/fieldpath"
	"anymesh.dev/anymesh/internal/trait/provider"
)

var componentKind = core.GroupVersion.WithKind("Component")

// Labels of workloads and traits.
const (
	nameLabel         = "app.oam.dev/name"
	componentLabel    = "app.oam.dev/component"
	resourceTypeLabel = "app.oam.dev/resourceType"
	workloadTypeLabel = "workload.oam.dev/type"
	traitTypeLabel    = "trait.oam.dev/type"
)

// Applications plans the objects of ApplicationConfigurations. It implements controller.Planner.
type Applications struct{ Discovery discovery.Options }

// Kind implements controller.Planner.
func (Applications) Kind() schema.GroupVersionKind {
	return core.GroupVersion.WithKind("ApplicationConfiguration")
}

// Reads implements controller.Planner.
func (Applications) Reads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{componentKind}
}

// application is the plan of one application.
type application struct {
	discovery.Reader
	options discovery.Options
	core.ApplicationConfiguration
	objects   []*unstructured.Unstructured
	workloads []workload
	failure   *provider.Reason
}

// workload is a workload of an application with its traits.
type workload struct {
	component string
	object    *unstructured.Unstructured
	traits    []*unstructured.Unstructured
	// unnamed is the number of traits without a name of their own, by kind. A name is the same after other traits change.
	unnamed map[string]int
}

// Plan implements controller.Planner.
func (p Applications) Plan(owner *unstructured.Unstructured, r discovery.Reader) controller.Plan {
	a := &application{Reader: r, options: p.Discovery}
	previous, _, _ := unstructured.NestedSlice(owner.Object, "status", "workloads")
	status := func(o controller.Outcome) controller.Status { return a.status(previous, o) }
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(owner.Object, &a.ApplicationConfiguration)
	if err != nil {
		a.fail("InvalidApplication", "the application cannot be read: %v; correct the field", err)
		return controller.Plan{Status: status}
	}
	for i, c := range a.Spec.Components {
		a.add(c, fmt.Sprintf("spec.components[%d]", i))
	}
	out := controller.Plan{Objects: a.objects, Status: status}
	if a.failure == nil {
		out.Prunes = a.kinds()
	}
	return out
}

func (a *application) fail(reason, format string, args ...any) {
	if a.failure == nil {
		a.failure = &provider.Reason{Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
}

// kinds are the kinds of the objects, and of those that the status has.
func (a *application) kinds() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	add := func(kind schema.GroupVersionKind) {
		if !slices.Contains(out, kind) && kind.Kind != "" {
			out = append(out, kind)
		}
	}
	for _, o := range a.objects {
		add(o.GroupVersionKind())
	}
	for _, w := range a.Status.Workloads {
		add(schema.FromAPIVersionAndKind(w.Reference.APIVersion, w.Reference.Kind))
		for _, t := range w.Traits {
			add(schema.FromAPIVersionAndKind(t.Reference.APIVersion, t.Reference.Kind))
		}
	}
	return out
}

// add plans the workload and the traits of a component.
func (a *application) add(c core.ApplicationConfigurationComponent, field string) {
	for _, f := range []struct {
		name  string
		isSet bool
	}{
		{"dataInputs", len(c.DataInputs) > 0}, {"dataOutputs", len(c.DataOutputs) > 0}, {"scopes", len(c.Scopes) > 0},
		{"revisionName", c.RevisionName != ""},
	} {
		if f.isSet {
			a.fail("NotSupported", "%s.%s: this is not implemented; remove the field", field, f.name)
			return
		}
	}
	var component core.Component
	found := a.Get(componentKind, a.Namespace, c.ComponentName)
	if found == nil {
		a.fail("ComponentNotFound", "%s.componentName: Component %q does not exist in namespace %s; create it", field,
			c.ComponentName, a.Namespace)
		return
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &component); err != nil {
		a.fail("InvalidComponent", "Component %s cannot be read: %v; correct the field", c.ComponentName, err)
		return
	}
	object, err := embedded(component.Spec.Workload)
	if err != nil {
		a.fail("InvalidComponent", "Component %s: spec.workload: %v; correct it", c.ComponentName, err)
		return
	}
	if err := setParameters(object, component.Spec.Parameters, c.ParameterValues); err != nil {
		a.fail("InvalidParameter", "%s.parameterValues: %v", field, err)
		return
	}
	a.complete(object, c.ComponentName, "WORKLOAD")
	if object.GetName() == "" {
		object.SetName(c.ComponentName)
	}
	w := workload{component: c.ComponentName, object: object, unnamed: map[string]int{}}
	a.objects = append(a.objects, object)
	for i, t := range c.Traits {
		a.addTrait(&w, t, fmt.Sprintf("%s.traits[%d]", field, i))
	}
	a.workloads = append(a.workloads, w)
}

// addTrait plans a trait of a workload.
func (a *application) addTrait(w *workload, t core.ComponentTrait, field string) {
	if len(t.DataInputs) > 0 || len(t.DataOutputs) > 0 {
		a.fail("NotSupported", "%s: dataInputs and dataOutputs are not implemented; remove them", field)
		return
	}
	object, err := embedded(t.Trait)
	if err != nil {
		a.fail("InvalidTrait", "%s.trait: %v; correct it", field, err)
		return
	}
	a.complete(object, w.component, "TRAIT")
	if object.GetName() == "" {
		kind := object.GroupVersionKind().GroupKind().String()
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", kind, w.unnamed[kind]))
		object.SetName(w.component + "-trait-" + hex.EncodeToString(sum[:5]))
		w.unnamed[kind]++
	}
	definition, failure := a.traitDefinition(object, field)
	if failure != nil {
		a.fail(failure.Reason, "%s", failure.Message)
		return
	}
	if failure := a.applies(definition, object, w, field); failure != nil {
		a.fail(failure.Reason, "%s", failure.Message)
		return
	}
	if definition.WorkloadRefPath != "" {
		path, err := fieldpath.Parse(definition.WorkloadRefPath)
		if err == nil {
			err = fieldpath.Set(object.Object, path, map[string]any{
				"apiVersion": w.object.GetAPIVersion(), "kind": w.object.GetKind(), "name": w.object.GetName(),
			})
		}
		if err != nil {
			a.fail("InvalidDefinition", "%s: the TraitDefinition of %s: spec.workloadRefPath: %v", field, object.GetKind(), err)
			return
		}
	}
	w.traits = append(w.traits, object)
	a.objects = append(a.objects, object)
}

// embedded returns the object of a field.
func embedded(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw.Raw, &out.Object); err != nil {
		return nil, err
	}
	text, err := json.Marshal(out.Object)
	if err != nil {
		return nil, err
	}
	return out, out.UnmarshalJSON(text) // integers are integers
}

// complete adds the namespace and the labels of an object.
func (a *application) complete(o *unstructured.Unstructured, component, resourceType string) {
	o.SetNamespace(a.Namespace)
	labels := maps.Clone(o.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[nameLabel], labels[componentLabel], labels[resourceTypeLabel] = a.Name, component, resourceType
	o.SetLabels(labels)
}

// setParameters sets the values of parameters in a workload.
func setParameters(o *unstructured.Unstructured, parameters []core.ComponentParameter,
	values []core.ComponentParameterValue) error {
	for _, v := range values {
		if !slices.ContainsFunc(parameters, func(p core.ComponentParameter) bool { return p.Name == v.Name }) {
			return fmt.Errorf("the component has no parameter %q; remove the value", v.Name)
		}
	}
	for _, p := range parameters {
		i := slices.IndexFunc(values, func(v core.ComponentParameterValue) bool { return v.Name == p.Name })
		if i < 0 {
			if p.Required != nil && *p.Required {
				return fmt.Errorf("the component requires the parameter %q; add a value", p.Name)
			}
			continue
		}
		var value any = values[i].Value.StrVal
		if values[i].Value.Type == intstr.Int {
			value = int64(values[i].Value.IntVal)
		}
		for _, text := range p.FieldPaths {
			path, err := fieldpath.Parse(text)
			if err == nil {
				err = fieldpath.Set(o.Object, path, value)
			}
			if err != nil {
				return fmt.Errorf("parameter %q: %w", p.Name, err)
			}
		}
	}
	return nil
}

// status returns the status of the application.
func (a *application) status(previous []any, outcome controller.Outcome) controller.Status {
	reference := func(o *unstructured.Unstructured) map[string]any {
		out := map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName()}
		if uid := outcome.UIDs[controller.KeyOf(o)]; uid != "" {
			out["uid"] = string(uid)
		}
		return out
	}
	fields := map[string]any{"observedGeneration": a.Generation}
	var workloads []any
	for _, w := range a.workloads {
		one := map[string]any{"componentName": w.component, "workloadRef": reference(w.object)}
		var traits []any
		for _, t := range w.traits {
			traits = append(traits, map[string]any{"traitRef": reference(t)})
		}
		if traits != nil {
			one["traits"] = traits
		}
		workloads = append(workloads, one)
	}
	if a.failure != nil || outcome.Forbidden != nil {
		workloads = previous // nothing is deleted: the status must not forget it
	}
	if workloads != nil {
		fields["workloads"] = workloads
	}
	return controller.Status{Fields: fields, Conditions: []core.Condition{synced(outcome, a.failure)}}
}

// synced returns the condition Synced.
func synced(outcome controller.Outcome, failure *provider.Reason) core.Condition {
	for _, reason := range []*provider.Reason{outcome.Forbidden, failure, outcome.Problem} {
		if reason != nil {
			return core.Condition{
				Type: controller.Synced, Status: metav1.ConditionFalse, Reason: reason.Reason, Message: reason.Message,
			}
		}
	}
	return core.Condition{Type: controller.Synced, Status: metav1.ConditionTrue, Reason: "ReconcileSuccess"}
}
