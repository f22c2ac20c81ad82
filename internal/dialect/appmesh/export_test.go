package appmesh

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Statuses returns a function that returns the Status of each of the objects.
func (Dialect) Statuses(objects []client.Object,
	findings []model.Finding) func(client.Object, time.Time) client.Object {
	out := Dialect{}.evaluate(objects).out
	byObject := map[model.ObjectRef][]model.Finding{}
	for _, f := range findings {
		byObject[f.Object] = append(byObject[f.Object], f)
	}
	return func(o client.Object, now time.Time) client.Object {
		ref := originOf(kindOf(o), o).Object()
		mesh, _ := out.Members.GetFirst(ref)
		return Dialect{}.Status(o, dialect.StatusInput{
			Mesh: mesh, State: out.StateOf("", ref), Findings: byObject[ref], Now: now,
		})
	}
}

// Status returns an object of a mesh without owner, with its status.
func Status(object client.Object, mesh string, findings []model.Finding, now time.Time) client.Object {
	return Dialect{}.Status(object, dialect.StatusInput{Mesh: mesh, Findings: findings, Now: now})
}

// MeshNames returns the awsName of the Mesh of each object that belongs to one, including the Meshes.
func MeshNames(objects []client.Object) map[model.ObjectRef]string {
	out := map[model.ObjectRef]string{}
	Dialect{}.evaluate(objects).out.Members.ForEach(func(ref model.ObjectRef, names []string) { out[ref] = names[0] })
	return out
}
