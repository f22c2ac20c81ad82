package status

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

var virtualNodes = schema.GroupResource{Resource: "virtualnodes"}

func TestStatusIsWrittenOnce(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", "nowhere"),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}})
		stop := c.run(t)
		if got := c.takeWrites(); len(got) != 3 {
			t.Errorf("Mesh and two VirtualNodes: got writes %v", got)
		}
		if got := summary(c.node(t, "front")); got != "VirtualNodeActive True Served, generation 4" {
			t.Errorf("front: got %s", got)
		}
		if got := summary(c.node(t, "back")); got != "VirtualNodeActive False ReferenceNotFound, generation 4" {
			t.Errorf("back: got %s", got)
		}
		stop()
		c.run(t) // the replica leads again
		advance(2 * resyncPeriod)
		if got := c.takeWrites(); len(got) != 0 {
			t.Errorf("no change: got writes %v", got)
		}
	})
}

func TestOnlyChangedObjectsAreReconciled(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", ""), node("other", ""))
		c.run(t)
		c.takeWrites()
		advance(minWriteInterval)
		c.setDelivered(deliveryFinding("back", "no"))
		if got := c.takeWrites(); !slices.Equal(got, []string{"back"}) {
			t.Errorf("finding about back: got writes %v", got)
		}
		if got := summary(c.node(t, "back")); got != "VirtualNodeActive False RejectedBySidecar, generation 4" {
			t.Errorf("back: got %s", got)
		}
		advance(minWriteInterval)
		c.setDelivered()
		if got := c.takeWrites(); !slices.Equal(got, []string{"back"}) ||
			summary(c.node(t, "back")) != "VirtualNodeActive True Served, generation 4" {
			t.Errorf("finding removed: got writes %v", got)
		}
		vn := c.node(t, "front")
		vn.Spec.Backends = node("", "nowhere").Spec.Backends
		c.update(t, vn, true)
		if got := c.takeWrites(); !slices.Equal(got, []string{"front"}) ||
			summary(c.node(t, "front")) != "VirtualNodeActive False ReferenceNotFound, generation 5" {
			t.Errorf("front changed: got writes %v, status %s", got, summary(c.node(t, "front")))
		}
		// The missing backend of front is created: the status of front changes.
		advance(minWriteInterval)
		missing := &api.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "nowhere", Generation: 1}}
		c.create(t, missing)
		advance(findingsDelay)
		if got := c.takeWrites(); !slices.Contains(got, "front") || slices.Contains(got, "other") {
			t.Errorf("backend created: got writes %v", got)
		}
		// It is deleted, and created again within a second: the status of front does not change.
		advance(minWriteInterval)
		c.engine.Delete(missing)
		c.engine.Sync()
		advance(findingsDelay / 2)
		c.engine.Set(missing)
		c.engine.Sync()
		advance(findingsDelay)
		if got := c.takeWrites(); slices.Contains(got, "front") {
			t.Errorf("backend replaced: got writes %v", got)
		}
	})
}

// An object that is being deleted gets a status only if it has to tell what it waits for.
func TestStatusDuringDeletion(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		front, back := node("front", ""), node("back", "")
		front.Finalizers, back.Finalizers = []string{"x/y"}, []string{"x/y"}
		c.create(t, mesh(), front, back)
		c.run(t)
		c.takeWrites()
		waits := deliveryFinding("front", "waits until its members are deleted: VirtualNode a/n")
		waits.Code, waits.Severity = model.CodePendingMembers, model.Warning
		for _, name := range []string{"front", "back"} {
			if err := c.Delete(t.Context(), c.node(t, name)); err != nil {
				t.Fatal(err)
			}
			c.update(t, c.node(t, name), true)
		}
		c.setDelivered(waits, deliveryFinding("back", "no"))
		advance(2 * minWriteInterval)
		if got := c.takeWrites(); !slices.Equal(got, []string{"front"}) {
			t.Errorf("got writes %v", got)
		}
		if got := summary(c.node(t, "front")); got != "VirtualNodeActive True PendingMembersDeletion, generation 5" {
			t.Errorf("front: got %s", got)
		}
	})
}

// Conditions and fields of other controllers are kept. If another client overwrites the written condition, the next
// resync restores it.
func TestStatusFieldsOfOtherControllersAreKept(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		vn := node("front", "")
		vn.Status.Conditions = []api.Condition{{Type: "Mine", Status: "Unknown", Reason: "Other"}}
		vn.Status.VirtualNodeARN = new("arn:aws:appmesh:of-old")
		c.create(t, mesh(), vn)
		c.run(t)
		const want = "Mine Unknown Other, VirtualNodeActive True Served, generation 4"
		if got := summary(c.node(t, "front")); got != want {
			t.Errorf("front: got %s", got)
		}
		now := c.node(t, "front")
		if got := *now.Status.VirtualNodeARN; got != "arn:aws:appmesh:of-old" {
			t.Errorf("got VirtualNodeARN %s", got)
		}
		now.Status.Conditions = now.Status.Conditions[:1]
		if err := c.Status().Update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		advance(resyncPeriod)
		if got := summary(c.node(t, "front")); got != want {
			t.Errorf("after the resync: got %s", got)
		}
	})
}

func TestFailedWritesAreRetried(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		failures := map[string][]error{
			"front": {apierrors.NewConflict(virtualNodes, "front", errors.New("the object has been modified"))},
			"back":  {errors.New("unavailable"), apierrors.NewInternalError(errors.New("etcd"))},
		}
		c.writeError = func(o client.Object) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			all := failures[o.GetName()]
			if len(all) == 0 {
				return nil
			}
			failures[o.GetName()] = all[1:]
			return all[0]
		}
		c.create(t, mesh(), node("front", ""), node("back", ""), node("other", ""))
		c.run(t)
		if summary(c.node(t, "front")) != "" || summary(c.node(t, "other")) == "" {
			t.Error("the failed write blocks others, or did not fail")
		}
		advance(5 * time.Second)
		if summary(c.node(t, "front")) == "" || summary(c.node(t, "back")) == "" {
			t.Error("failed writes are not retried")
		}
		if err := testutil.GatherAndCompare(c.metrics, strings.NewReader(`
# HELP anymesh_status_writes_total Writes of statuses and of pods' readiness gates, by result: written, conflict, gone, failed.
# TYPE anymesh_status_writes_total counter
anymesh_status_writes_total{result="conflict"} 1
anymesh_status_writes_total{result="failed"} 2
anymesh_status_writes_total{result="gone"} 0
anymesh_status_writes_total{result="written"} 4
# HELP anymesh_workqueue_retries_total Reconciliations that failed and are retried, by queue: status, finalizers, kept, routes.
# TYPE anymesh_workqueue_retries_total counter
anymesh_workqueue_retries_total{queue="status"} 3
`), "anymesh_status_writes_total", "anymesh_workqueue_retries_total"); err != nil {
			t.Error(err)
		}
	})
}

// An object that was deleted, changed or replaced since the last change is not written: another change will follow.
func TestStaleObjectsAreSkipped(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *cluster, *api.VirtualNode){
		"deleted": func(t *testing.T, c *cluster, o *api.VirtualNode) { c.remove(t, o) },
		"changed": func(t *testing.T, c *cluster, o *api.VirtualNode) { c.update(t, o, false) },
		"replaced": func(t *testing.T, c *cluster, o *api.VirtualNode) {
			c.remove(t, o)
			again := node("front", "")
			again.UID = "another"
			if err := c.Create(t.Context(), again); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			testCluster(t, func(t *testing.T, c *cluster) {
				c.create(t, mesh(), node("front", ""))
				change(t, c, c.node(t, "front"))
				c.run(t)
				if got := c.takeWrites(); !slices.Equal(got, []string{"m"}) {
					t.Errorf("got writes %v", got)
				}
			})
		})
	}
	t.Run("deleted during the write", func(t *testing.T) {
		testCluster(t, func(t *testing.T, c *cluster) {
			c.writeError = func(o client.Object) error { return apierrors.NewNotFound(virtualNodes, o.GetName()) }
			c.create(t, mesh(), node("front", ""))
			c.run(t)
			c.takeWrites()
			advance(time.Minute)
			if got := c.takeWrites(); len(got) != 0 || c.takeEvents() != "" {
				t.Errorf("got retries %v", got)
			}
		})
	})
}

func (c *cluster) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := c.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// The writer keeps no state about deleted objects.
func TestDeletedObjectsAreUntracked(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""))
		c.run(t)
		c.engine.Delete(node("front", ""))
		c.engine.Sync()
		c.setDelivered(deliveryFinding("front", "no"))
		advance(time.Second)
		if n := len(c.all()); n != 1 {
			t.Errorf("got %d tracked objects, want only the Mesh", n)
		}
	})
}

// The writer must not sort or extend the slice of findings.
func TestFindingsSliceIsNotModified(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		kept := append(make([]model.Finding, 0, 8), deliveryFinding("back", "z"), deliveryFinding("back", "m"))
		c.extra = kept
		c.create(t, mesh(), node("back", "nowhere"))
		c.run(t)
		if want := []model.Finding{deliveryFinding("back", "z"), deliveryFinding("back", "m")}; !slices.Equal(kept, want) ||
			kept[:3][2] != (model.Finding{}) {
			t.Errorf("the slice was modified: %v", kept[:3])
		}
	})
}

func TestDuplicateKindIsAnError(t *testing.T) {
	c := newCluster(t)
	o := c.Options
	o.Registerer, o.Dialects = nil, append(o.Dialects, o.Dialects[0])
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "two dialects have a kind") {
		t.Errorf("got error %v", err)
	}
}

// A status is written again when the state of its object changes, without a change of the object or its findings: the
// owner of a mesh is in the ARNs of the members.
func TestStatusFollowsState(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		m := mesh()
		c.create(t, m, node("front", ""))
		c.run(t)
		arn := func() string { return *c.node(t, "front").Status.VirtualNodeARN }
		without := arn()
		advance(minWriteInterval)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
			t.Fatal(err)
		}
		m.Spec.MeshOwner = new("123456789012")
		c.update(t, m, true)
		advance(findingsDelay + minWriteInterval)
		if got := arn(); got == without || !strings.Contains(got, ":123456789012:") {
			t.Errorf("got ARN %s, before %s", got, without)
		}
	})
}
