package finalizers

import (
	"reflect"
	"slices"

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

// index holds the objects, and the members of each owner by the owner's UID.
type index struct {
	dialects map[reflect.Type]Dialect
	objects  map[key]client.Object
	uids     map[types.UID]key
	members  map[types.UID]map[key]struct{}
}

func newIndex(dialects []Dialect) *index {
	byType := map[reflect.Type]Dialect{}
	for _, d := range dialects {
		for _, kind := range dialect.OwnKinds(d) {
			byType[reflect.TypeOf(kind)] = d
		}
	}
	return &index{
		dialects: byType, objects: map[key]client.Object{}, uids: map[types.UID]key{},
		members: map[types.UID]map[key]struct{}{},
	}
}

// set adds or replaces an object, and returns the owners that lost their last member.
func (x *index) set(o client.Object) (ownersWithoutMembers []key) {
	if x.dialects[reflect.TypeOf(o)] == nil {
		return nil
	}
	k, before := keyOf(o), []types.UID(nil)
	if old, known := x.objects[k]; known {
		delete(x.uids, old.GetUID())
		before = x.ownersOf(old)
	}
	x.objects[k], x.uids[o.GetUID()] = o, k
	for _, uid := range x.ownersOf(o) {
		if x.members[uid] == nil {
			x.members[uid] = map[key]struct{}{}
		}
		x.members[uid][k] = struct{}{}
	}
	return x.removeMember(k, before, x.ownersOf(o))
}

// remove removes an object, and returns the owners that lost their last member.
func (x *index) remove(o client.Object) (ownersWithoutMembers []key) {
	k := keyOf(o)
	old, known := x.objects[k]
	if !known {
		return nil
	}
	delete(x.objects, k)
	delete(x.uids, old.GetUID())
	return x.removeMember(k, x.ownersOf(old), nil)
}

// removeMember removes an object from its owners, except for those that it keeps.
func (x *index) removeMember(k key, owners, keeps []types.UID) (ownersWithoutMembers []key) {
	for _, uid := range owners {
		if slices.Contains(keeps, uid) {
			continue
		}
		delete(x.members[uid], k)
		if len(x.members[uid]) > 0 {
			continue
		}
		delete(x.members, uid)
		if owner, known := x.uids[uid]; known {
			ownersWithoutMembers = append(ownersWithoutMembers, owner)
		}
	}
	return ownersWithoutMembers
}

// lookup returns an object and its members.
func (x *index) lookup(k key) (o client.Object, members []client.Object) {
	o = x.objects[k]
	if o == nil {
		return nil, nil
	}
	for member := range x.members[o.GetUID()] {
		members = append(members, x.objects[member])
	}
	return o, members
}

// deleting lists the objects that are being deleted.
func (x *index) deleting() (out []key) {
	for k, o := range x.objects {
		if o.GetDeletionTimestamp() != nil {
			out = append(out, k)
		}
	}
	return out
}

func (x *index) ownersOf(o client.Object) []types.UID { return x.dialects[reflect.TypeOf(o)].Owners(o) }
