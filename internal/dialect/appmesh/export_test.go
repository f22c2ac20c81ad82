package appmesh

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// Statuses compiles objects and findings into a function that gives each of the objects its Status.
func (Dialect) Statuses(objects []client.Object,
	findings []model.Finding) func(client.Object, time.Time) client.Object {
	meshes := MeshNames(objects)
	byObject := map[model.ObjectRef][]model.Finding{}
	for _, f := range findings {
		byObject[f.Object] = append(byObject[f.Object], f)
	}
	return func(o client.Object, now time.Time) client.Object {
		ref := originOf(kindOf(o), o).Object
		return Status(o, meshes[ref], byObject[ref], now)
	}
}

// MeshNames gives the awsName of the Mesh of each object that belongs to one, a Mesh to itself.
func MeshNames(objects []client.Object) map[model.ObjectRef]string {
	out := map[model.ObjectRef]string{}
	Dialect{}.evaluate(objects).out.Members.ForEach(func(ref model.ObjectRef, names []string) { out[ref] = names[0] })
	return out
}
