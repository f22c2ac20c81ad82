package lint

import (
	"errors"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/objects/admission"
	"anymesh.dev/anymesh/model"
)

// admit gives the objects as admission leaves them, and findings about those that it refuses. They stay: what else is wrong with them is
// worth knowing at once. Objects that came out of a cluster, with their unique ids, have their defaults already.
func admit(dialects []dialect.Dialect, set *manifest.Set) ([]client.Object, []model.Finding) {
	var out []client.Object
	var refused []model.Finding
	labels := map[string]map[string]string{}
	byType := map[reflect.Type][]client.Object{}
	for _, o := range set.Objects {
		o = o.DeepCopyObject().(client.Object)
		out = append(out, o)
		byType[reflect.TypeOf(o)] = append(byType[reflect.TypeOf(o)], o)
		if ns, is := o.(*corev1.Namespace); is {
			labels[ns.Name] = ns.Labels
		}
	}
	for _, d := range dialects {
		rules, ok := d.(admission.Dialect)
		if !ok {
			continue
		}
		// A kind stands behind those that its admission reads, so that these have their defaults.
		for _, kind := range dialect.OwnKinds(d) {
			for _, o := range byType[reflect.TypeOf(kind)] {
				c := dialect.AdmissionContext{NamespaceLabels: labels[o.GetNamespace()]}
				for _, read := range rules.AdmissionReads(o) {
					c.Objects = append(c.Objects, byType[reflect.TypeOf(read)]...)
				}
				if o.GetUID() == "" {
					refused = append(refused, refusals(o, rules.Default(nil, o, c))...)
				}
				refused = append(refused, refusals(o, rules.Validate(nil, o))...)
			}
		}
	}
	return out, refused
}

// refusals are the findings of a denial: its own, field by field, or one with its text.
func refusals(o client.Object, denial error) []model.Finding {
	var refusal *dialect.Refusal
	switch {
	case denial == nil:
		return nil
	case errors.As(denial, &refusal):
		return refusal.Findings
	}
	return []model.Finding{model.NewFinding(model.Origin{Object: dialect.RefOf(o)}, model.CodeRefused, denial.Error())}
}

// explained tells whether a refusal has been told better: with the field, and what to do.
func explained(refusal model.Finding, findings []model.Finding) bool {
	return slices.ContainsFunc(findings, func(f model.Finding) bool {
		return f.Object == refusal.Object && (f.Code == model.CodeNoMesh || f.Code == model.CodeMultipleMeshes)
	})
}
