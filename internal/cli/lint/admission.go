package lint

import (
	"errors"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// admit returns the objects after admission, and findings about objects that admission refuses. Refused objects are
// kept, so that lint reports all their findings. Objects with a UID come from a cluster and have their defaults
// already.
func admit(dialects []dialect.Dialect, objects []client.Object) ([]client.Object, []model.Finding) {
	var out []client.Object
	var refused []model.Finding
	labels := map[string]map[string]string{}
	byType := map[reflect.Type][]client.Object{}
	for _, o := range objects {
		o = o.DeepCopyObject().(client.Object)
		out = append(out, o)
		byType[reflect.TypeOf(o)] = append(byType[reflect.TypeOf(o)], o)
		if ns, is := o.(*corev1.Namespace); is {
			labels[ns.Name] = ns.Labels
		}
	}
	for _, rules := range dialect.Implementing[dialect.Admission](dialects) {
		// OwnKinds orders a kind after the kinds that its admission reads, so that these have their defaults.
		for _, kind := range dialect.OwnKinds(rules) {
			for _, o := range byType[reflect.TypeOf(kind)] {
				c := dialect.AdmissionContext{NamespaceLabels: labels[o.GetNamespace()]}
				for _, read := range rules.AdmissionReads(o) {
					c.Objects = append(c.Objects, byType[reflect.TypeOf(read)]...)
				}
				if o.GetUID() == "" {
					refused = append(refused, refusals(o, rules.Default(nil, o, c))...)
				}
				_, denial := rules.Validate(nil, o)
				refused = append(refused, refusals(o, denial)...)
			}
		}
	}
	return out, refused
}

// refusals returns the findings of a denial: one per field, or one with the error text.
func refusals(o client.Object, denial error) []model.Finding {
	var refusal *dialect.Refusal
	switch {
	case denial == nil:
		return nil
	case errors.As(denial, &refusal):
		return refusal.Findings
	}
	return []model.Finding{model.NewFinding(model.NewOrigin(dialect.RefOf(o)), model.CodeRefused, denial.Error())}
}

// selection are the codes of findings about an object that not exactly one Mesh or gateway selects.
var selection = []model.Code{
	model.CodeNoMesh, model.CodeMultipleMeshes, model.CodeNoGateway, model.CodeMultipleGateways,
}

// explained reports whether another finding describes the same refusal with more detail.
func explained(refusal model.Finding, findings []model.Finding) bool {
	return slices.ContainsFunc(findings, func(f model.Finding) bool {
		return f.Object == refusal.Object && slices.Contains(selection, f.Code)
	})
}
