package fleet

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// TestMembersThatJoinLaterAreLate guards the difference between clusters that exist at the start, also those that do
// not answer, and those that join later, until these were reached.
func TestMembersThatJoinLaterAreLate(t *testing.T) {
	first, away := newAPIServer(t, "uid-1"), newAPIServer(t, "uid-2")
	later, dead := newAPIServer(t, "uid-3"), newAPIServer(t, "uid-4")
	join := func(s *apiServer, name string) []client.Object {
		objects := s.join(name)
		objects[0].(*clusterv1.Cluster).Spec.ID = s.uid
		return objects
	}
	away.Close()
	dead.Close()
	c := newControlPlane(t, append(join(first, "c1"), join(away, "c2")...)...)
	wants := func(when, want string) {
		t.Helper()
		got := ""
		for _, m := range c.refresh() {
			got += fmt.Sprintf("%s %t ", m.Name, m.Late)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", when, got, want)
		}
	}
	wants("at the start", "c1 false c2 false ")
	later.set(func() { later.token = "t2" }) // The token of the Cluster is not valid yet.
	for _, o := range append(join(later, "c3"), join(dead, "c4")...) {
		if err := c.Kube.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	wants("after the join", "c1 false c2 false c3 true c4 true ")
	wants("before it answers", "c1 false c2 false c3 true c4 true ")
	later.set(func() { later.token = "t1" })
	wants("when it answers", "c1 false c2 false c3 true c4 true ")
	wants("after it answered", "c1 false c2 false c3 false c4 true ")
	again := join(first, "c1")[0]
	if err := c.Kube.Delete(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	again = join(first, "c1")[0]
	again.SetUID("another")
	if err := c.Kube.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	wants("after a Cluster of the same name", "c1 true c2 false c3 false c4 true ")
}
