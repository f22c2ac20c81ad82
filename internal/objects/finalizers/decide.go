// Package finalizers removes the finalizers of controllers that no longer run from objects that are being deleted.
//
// In: the objects of dialects. Out: patches that remove those finalizers, so that the API server deletes the objects,
// and an event about each object whose deletion waits for its members. The package does not change other finalizers or
// objects that are not being deleted.
package finalizers

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// Dialect is a dialect whose objects may have finalizers of a controller that no longer runs.
type Dialect interface {
	// Kinds returns an empty object of each kind that the dialect reads. Its own kinds may have finalizers.
	Kinds() []client.Object
	// Finalizers lists the finalizers of the former controller.
	Finalizers() []string
	// Owners returns the UIDs of the objects whose deletion waits for this one.
	Owners(o client.Object) []types.UID
}

// decide returns the finalizers that an object keeps and, if its deletion must wait, the reason. members are the
// objects that have it as an owner. An owner waits for its members. Finalizers of all other objects are removed
// immediately, even if other objects refer to them.
func decide(d Dialect, o client.Object, members []client.Object) (keep []string, waits string) {
	have, ours := o.GetFinalizers(), d.Finalizers()
	isOurs := func(finalizer string) bool { return slices.Contains(ours, finalizer) }
	if o.GetDeletionTimestamp() == nil || !slices.ContainsFunc(have, isOurs) {
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
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
