package finalizers

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// Of most objects, the index holds the object only: entries by UID are for owners.
func TestIndexHoldsOwnersByUID(t *testing.T) {
	x := newIndex([]dialect.Finalizers{appmesh.Dialect{}})
	m := mesh(false)
	x.set(m)
	var nodes []client.Object
	for i := range 3 {
		n := node(fmt.Sprint(i), m, false)
		nodes = append(nodes, n)
		x.set(n)
		x.set(n) // a member counts once
	}
	if len(x.owners) != 1 || len(x.members) != 1 || x.members[m.GetUID()] != len(nodes) {
		t.Errorf("got owners %v and members %v", x.owners, x.members)
	}
	if _, members := x.lookup(keyOf(m)); len(members) != len(nodes) {
		t.Errorf("got members %v", members)
	}
	moved := node("0", mesh(false), false)
	moved.Spec.MeshRef.UID = types.UID("other")
	x.set(moved)
	x.remove(nodes[1])
	if _, members := x.lookup(keyOf(m)); len(members) != 1 || members[0] != nodes[2] {
		t.Errorf("got members %v, want the last one", members)
	}
	if released := x.remove(nodes[2]); len(released) != 1 || released[0] != keyOf(m) || x.members[m.GetUID()] != 0 {
		t.Errorf("released are %v, members %v", released, x.members)
	}
}
