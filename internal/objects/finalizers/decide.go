// Package finalizers delays the deletion of objects that have members, and releases objects that finalizers of a former
// controller would keep forever.
//
// In: the objects of dialects. Out: patches of finalizers. An object that can have members gets a finalizer; when it
// is deleted, it keeps the finalizer until its last member is deleted, with an event and a finding that list the
// members. Finalizers of the former controller are removed from all objects that are being deleted. The package does
// not change other finalizers.
package finalizers

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// decide returns the finalizers that an object has to have and, if its deletion must wait, the reason. members are the
// objects that have it as an owner. An owner waits for its members. Finalizers of all other objects are removed
// immediately, even if other objects refer to them.
func decide(d dialect.Finalizers, o client.Object, members []client.Object) (want []string, waits string) {
	have, ours := o.GetFinalizers(), d.Finalizers()
	if o.GetDeletionTimestamp() == nil {
		if f := d.MemberFinalizer(o); f != "" && !slices.Contains(have, f) {
			return append(slices.Clone(have), f), ""
		}
		return have, ""
	}
	isOurs := func(finalizer string) bool { return slices.Contains(ours, finalizer) }
	if !slices.ContainsFunc(have, isOurs) {
		return have, ""
	}
	if len(members) > 0 {
		var names []string
		for _, m := range members {
			names = append(names, dialect.RefOf(m).String())
		}
		slices.Sort(names)
		return have, "waits until its members are deleted: " + abbreviate(names)
	}
	return slices.DeleteFunc(slices.Clone(have), isOurs), ""
}

// abbreviate lists the first names and the number of the others.
func abbreviate(names []string) string {
	const most = 10
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
