package finalizers

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
)

// key identifies an object of any kind.
type key struct {
	kind reflect.Type
	types.NamespacedName
}

func keyOf(o client.Object) key { return key{reflect.TypeOf(o), client.ObjectKeyFromObject(o)} }

// index holds the objects.
type index struct {
	dialects map[reflect.Type]dialect.Finalizers
	objects  map[key]client.Object
	// owners are the objects that can have members, and members the number of members, by the UID of the owner.
	owners  map[types.UID]key
	members map[types.UID]int
	// deletedOwners are the objects with a MemberFinalizer that are being deleted.
	deletedOwners map[key]struct{}
	// terminating are the names of Namespaces that are being deleted.
	terminating map[string]struct{}
}

func newIndex(dialects []dialect.Finalizers) *index {
	byType := map[reflect.Type]dialect.Finalizers{}
	for _, d := range dialects {
		for _, kind := range dialect.OwnKinds(d) {
			byType[reflect.TypeOf(kind)] = d
		}
	}
	return &index{
		dialects: byType, objects: map[key]client.Object{}, owners: map[types.UID]key{},
		members: map[types.UID]int{}, deletedOwners: map[key]struct{}{}, terminating: map[string]struct{}{},
	}
}

// set adds or replaces an object, and returns the owners that may not have to wait any longer: they lost their last
// member, or their Namespace is being deleted.
func (x *index) set(o client.Object) (released []key) {
	if namespace, is := o.(*corev1.Namespace); is {
		return x.setNamespace(namespace)
	}
	d := x.dialects[reflect.TypeOf(o)]
	if d == nil {
		return nil
	}
	k, now, before := keyOf(o), x.ownersOf(o), []types.UID(nil)
	if old, known := x.objects[k]; known {
		delete(x.owners, old.GetUID())
		before = x.ownersOf(old)
	}
	x.objects[k] = o
	delete(x.deletedOwners, k)
	if d.MemberFinalizer(o) != "" {
		x.owners[o.GetUID()] = k
		if o.GetDeletionTimestamp() != nil {
			x.deletedOwners[k] = struct{}{}
		}
	}
	for _, uid := range now {
		if !slices.Contains(before, uid) {
			x.members[uid]++
		}
	}
	return x.removeMember(before, now)
}

func (x *index) setNamespace(namespace *corev1.Namespace) (released []key) {
	if namespace.DeletionTimestamp == nil {
		delete(x.terminating, namespace.Name)
		return nil
	}
	x.terminating[namespace.Name] = struct{}{}
	for k := range x.deletedOwners {
		if k.Namespace == namespace.Name {
			released = append(released, k)
		}
	}
	return released
}

// remove removes an object, and returns the owners that lost their last member.
func (x *index) remove(o client.Object) (ownersWithoutMembers []key) {
	if namespace, is := o.(*corev1.Namespace); is {
		delete(x.terminating, namespace.Name)
		return nil
	}
	k := keyOf(o)
	old, known := x.objects[k]
	if !known {
		return nil
	}
	delete(x.objects, k)
	delete(x.deletedOwners, k)
	delete(x.owners, old.GetUID())
	return x.removeMember(x.ownersOf(old), nil)
}

// removeMember removes a member from its owners, except for those that it keeps.
func (x *index) removeMember(owners, keeps []types.UID) (ownersWithoutMembers []key) {
	for _, uid := range owners {
		if slices.Contains(keeps, uid) {
			continue
		}
		if x.members[uid]--; x.members[uid] == 0 {
			delete(x.members, uid)
		}
		if owner, known := x.owners[uid]; known && !x.hasMembers(uid, owner) {
			ownersWithoutMembers = append(ownersWithoutMembers, owner)
		}
	}
	return ownersWithoutMembers
}

// hasMembers reports whether the deletion of an owner waits for members.
func (x *index) hasMembers(uid types.UID, owner key) bool {
	if _, terminating := x.terminating[owner.Namespace]; !terminating {
		return x.members[uid] > 0
	}
	_, members := x.lookup(owner)
	return len(members) > 0
}

// lookup returns an object, and the members that its deletion waits for. An object in a Namespace that is being deleted
// does not wait for members of other Namespaces: nobody may want to delete these, and the Namespace would wait forever.
func (x *index) lookup(k key) (o client.Object, members []client.Object) {
	o = x.objects[k]
	if o == nil {
		return nil, nil
	}
	uid := o.GetUID()
	if x.members[uid] == 0 {
		return o, nil
	}
	_, terminating := x.terminating[k.Namespace]
	for name, member := range x.objects { // no index of members: owners are rarely deleted
		if (!terminating || name.Namespace == k.Namespace) && slices.Contains(x.ownersOf(member), uid) {
			members = append(members, member)
		}
	}
	return o, members
}

// unfinished lists the objects that are being deleted, or lack a finalizer.
func (x *index) unfinished() (out []key) {
	for k, o := range x.objects {
		if o.GetDeletionTimestamp() != nil || x.lacksFinalizer(o) {
			out = append(out, k)
		}
	}
	return out
}

func (x *index) lacksFinalizer(o client.Object) bool {
	d := x.dialects[reflect.TypeOf(o)]
	if d == nil {
		return false
	}
	finalizer := d.MemberFinalizer(o)
	return finalizer != "" && !slices.Contains(o.GetFinalizers(), finalizer)
}

// ownersOf returns the UIDs of the owners of an object, each once.
func (x *index) ownersOf(o client.Object) []types.UID {
	owners := x.dialects[reflect.TypeOf(o)].Owners(o)
	slices.Sort(owners)
	return slices.Compact(owners)
}
