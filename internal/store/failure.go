package store

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// Subject is an entry of a relation that belongs to an object. A rule that fails for it is a finding about the object.
type Subject interface{ SubjectRef() model.ObjectRef }

// failureRule reports rules that panic, as findings about the objects that they were evaluated for.
type failureRule struct {
	refOf    func(client.Object) model.ObjectRef
	meshes   *incremental.Reader[string, model.Mesh]
	findings Output[model.ObjectRef, model.Finding]
}

func (m *Mesh) addFailureRule(g *incremental.Graph, objects *Objects) {
	r := incremental.NewRule(g, "failures")
	incremental.Each(r, g.Failures(), failureRule{objects.RefOf, incremental.Reads(r, m.Meshes), m.EmitsFindings(r)},
		failureRule.evaluate)
}

func (r failureRule) evaluate(key incremental.FailureKey, all []incremental.Failure) {
	ref := r.subject(key.Key, all[0].Value)
	if ref == (model.ObjectRef{}) {
		return // the log and a metric report it
	}
	r.findings.Emit(model.NewFinding(model.NewOrigin(ref), model.CodeInternal, fmt.Sprintf(
		"rule %q failed: %s; the last good configuration stays in use; "+
			"please report this text with the object and the log of the control plane", key.Rule, all[0].Text)))
}

// subject returns the object of an entry. If the entry has none, it is the object of the mesh. It is empty if there is
// neither.
func (r failureRule) subject(key, value any) model.ObjectRef {
	var at model.Origin
	switch v := value.(type) {
	case Subject:
		return v.SubjectRef()
	case client.Object:
		return r.refOf(v)
	case model.Endpoint:
		return model.ObjectRef{Kind: "Pod", Namespace: v.Instance.Namespace, Name: v.Instance.Name}
	case model.Origin:
		at = v
	case model.Mesh:
		at = v.Origin
	case model.Workload:
		at = v.Origin
	case model.Service:
		at = v.Origin
	case model.Router:
		at = v.Origin
	case model.Destination:
		at = v.Origin
	case *WorkloadView:
		at = v.workload.Origin
	}
	if at.Object() != (model.ObjectRef{}) {
		return at.Object()
	}
	mesh := ""
	switch k := key.(type) {
	case model.Key:
		mesh = k.Mesh
	case model.OutboundKey:
		mesh = k.Mesh
	}
	m, _ := r.meshes.ReadFirst(mesh)
	return m.Origin.Object()
}
