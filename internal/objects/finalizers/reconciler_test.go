package finalizers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// The objects can be deleted in any order.
func TestAllObjectsAreDeletedInAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			m := mesh(false, meshMembers, appMeshResources)
			objects := []client.Object{m}
			for i := range 4 {
				objects = append(objects, node(fmt.Sprintf("n%d", i), m, false, appMeshResources, cloudMapResources))
			}
			gateway := &api.VirtualGateway{ObjectMeta: meta("g", false, gatewayMembers, appMeshResources)}
			gateway.Spec.MeshRef = &api.MeshReference{Name: m.Name, UID: m.UID}
			route := &api.GatewayRoute{ObjectMeta: meta("r", false, appMeshResources)}
			route.Spec.MeshRef, route.Spec.VirtualGatewayRef = gateway.Spec.MeshRef, &api.VirtualGatewayReference{Name: "g", UID: gateway.UID}
			objects = append(objects, gateway, route)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(objects), func(i, j int) {
				objects[i], objects[j] = objects[j], objects[i]
			})
			c := newCluster(t, objects...)
			c.run(t)
			for _, o := range objects {
				c.delete(t, o)
			}
			for range 3 { // the deletion of a member unblocks its owner
				for _, o := range objects {
					c.sync(t, o)
				}
				synctest.Wait()
			}
			for _, o := range objects {
				if !c.sync(t, o) {
					t.Errorf("seed %d: %T %s is not deleted", seed, o, o.GetName())
				}
			}
			if n := len(c.index.objects) + len(c.index.owners) + len(c.index.members) +
				len(c.index.deletedOwners) + len(c.reminded) + len(c.turns); n != 0 {
				t.Errorf("seed %d: the Reconciler has %d entries for deleted objects", seed, n)
			}
		})
	}
}

// A Mesh that waits for its members gets an event each minute. Its finalizers are removed after the last member is
// deleted. Waiting costs no reads.
func TestMeshWaitsForMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mesh(false, meshMembers, appMeshResources)
		n1, n2 := node("n1", m, false), node("n2", m, false)
		other := mesh(false, meshMembers)
		other.UID = "of an earlier m"
		c := newCluster(t, m, n1, n2, node("stays", other, false, appMeshResources))
		c.run(t)
		if c.delete(t, m) {
			t.Fatal("a Mesh with members was deleted")
		}
		for i := range 3 {
			time.Sleep(reminderInterval)
			c.sync(t, m) // an update causes no additional event
			synctest.Wait()
			if n := len(c.recorder.Events); n != i+2 {
				t.Errorf("got %d events after %d minutes", n, i+1)
			}
		}
		if e := <-c.recorder.Events; !strings.HasPrefix(e, "Warning PendingMembersDeletion") ||
			!strings.Contains(e, "a/n1, VirtualNode a/n2") {
			t.Errorf("got event %q", e)
		}
		if !c.delete(t, n1) || c.sync(t, m) || c.readCount() != 0 {
			t.Errorf("one of two members is deleted: got %d reads, want 0 and the Mesh not deleted", c.readCount())
		}
		if c.delete(t, n2); !c.sync(t, m) || c.readCount() != 1 {
			t.Errorf("the last member is deleted: got %d reads, want 1 and the Mesh deleted", c.readCount())
		}
	})
}

// A new leader finds objects that are being deleted. Failed reconciliations are retried.
func TestNextLeaderContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mesh(false, meshMembers)
		n := node("n", m, false, appMeshResources)
		c := newCluster(t, m, n)
		c.run(t)()
		if c.delete(t, n) {
			t.Fatal("the object was deleted without a leader")
		}
		c.setReadError(errors.New("unavailable"))
		c.run(t)
		if reads := c.readCount(); reads != 1 {
			t.Fatalf("the API server is unavailable: got %d reads, want 1", reads)
		}
		if c.sync(t, n) {
			t.Fatal("the object was deleted while the API server is unavailable")
		}
		synctest.Wait() // for the reconciliation after sync
		c.setReadError(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !c.sync(t, n) {
			t.Error("the object is not deleted")
		}
	})
}
