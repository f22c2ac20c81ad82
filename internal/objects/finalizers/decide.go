// Package finalizers removes the finalizers of controllers that do not run any more from objects that are being deleted.
//
// In: the objects of dialects. Out: the same objects without those finalizers, and so gone; an event about an object that waits for its
// members. Finalizers of others, and objects that nobody deletes, stay as they are.
package finalizers

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// Dialect is a dialect whose objects may carry finalizers of a controller that does not run any more.
type Dialect interface {
	// Kinds gives an empty object of each kind that the dialect reads. Those that are not Kubernetes' own may carry finalizers.
	Kinds() []client.Object
	// Finalizers lists the finalizers of the former controller.
	Finalizers() []string
	// Owners gives the uids of the objects whose deletion waits for this one.
	Owners(o client.Object) []types.UID
}

// decide says which finalizers an object keeps, and, if its deletion has to wait, for whom. members are the objects that have it as an
// owner. An owner waits for its members, so that nobody takes it from under them; everything else is released at once, whatever refers
// to it.
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

// abbreviate lists the first few and counts the rest.
func abbreviate(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
