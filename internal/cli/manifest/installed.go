package manifest

import (
	"fmt"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Enable enables the dialects that documents need: those that read a kind of them which no other dialect can read. It
// returns all dialects, the objects of the chart that are not in the documents, and what it assumes.
func Enable(documents []*Document, dialects []dialect.Dialect) ([]dialect.Dialect, []client.Object, []string) {
	var objects []client.Object
	var assumptions []string
	enabled := slices.Clone(dialects)
	all := slices.Clone(dialects)
	for i, d := range dialects {
		if optional, is := d.(dialect.Installed); is {
			all[i], _ = optional.Installed()
		}
	}
	for i, d := range dialects {
		optional, is := d.(dialect.Installed)
		if !is {
			continue
		}
		others := slices.Concat(all[:i], all[i+1:])
		installed, made := optional.Installed()
		if len(d.Kinds()) > 0 || !readsOne(documents, installed, dialect.Kinds(others)) {
			continue
		}
		enabled[i] = installed
		for _, o := range made {
			ref := dialect.RefOf(o)
			same := func(other model.ObjectRef) bool {
				return other.Group == ref.Group && other.Kind == ref.Kind && other.Name == ref.Name
			}
			if !slices.ContainsFunc(documents, func(d *Document) bool { return same(d.Ref) }) &&
				!slices.ContainsFunc(objects, func(o client.Object) bool { return same(dialect.RefOf(o)) }) {
				objects = append(objects, o)
			}
		}
		assumptions = append(assumptions, fmt.Sprintf("the gateway of the dialect %s is assumed, as the chart installs it", d.Name()))
	}
	return enabled, objects, assumptions
}

// readsOne reports whether a dialect reads a document of a kind that is not among others.
func readsOne(documents []*Document, d dialect.Dialect, others []client.Object) bool {
	for _, kind := range d.Kinds() {
		same := func(o client.Object) bool { return reflect.TypeOf(o) == reflect.TypeOf(kind) }
		if slices.ContainsFunc(others, same) {
			continue
		}
		ref := dialect.RefOf(kind)
		of := func(d *Document) bool { return d.GVK.Group == ref.Group && d.GVK.Kind == ref.Kind }
		if slices.ContainsFunc(documents, of) {
			return true
		}
	}
	return false
}
