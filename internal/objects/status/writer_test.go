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
	inCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", "nowhere"),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}})
		stop := c.run(t)
		if got := c.written(); len(got) != 3 {
			t.Errorf("written for a Mesh and two VirtualNodes: %v", got)
		}
		if got := summary(c.node(t, "front")); got != "VirtualNodeActive True Served, generation 4" {
			t.Errorf("the front: %s", got)
		}
		if got := summary(c.node(t, "back")); got != "VirtualNodeActive False ReferenceNotFound, generation 4" {
			t.Errorf("the back: %s", got)
		}
		stop()
		c.run(t) // another term of the same replica
		pass(2 * resyncPeriod)
		if got := c.written(); len(got) != 0 {
			t.Errorf("nothing changed, and written was %v", got)
		}
	})
}

// One object changes: nothing else is looked at, not to speak of written.
func TestOnlyChangedObjectsAreReconciled(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", ""), node("other", ""))
		c.run(t)
		c.written()
		pass(minWriteInterval)
		c.setDelivered(about("back", "no"))
		if got := c.written(); !slices.Equal(got, []string{"back"}) {
			t.Errorf("written for a finding about the back: %v", got)
		}
		if got := summary(c.node(t, "back")); got != "VirtualNodeActive False RejectedBySidecar, generation 4" {
			t.Errorf("the back: %s", got)
		}
		pass(minWriteInterval)
		c.setDelivered()
		if got := c.written(); !slices.Equal(got, []string{"back"}) ||
			summary(c.node(t, "back")) != "VirtualNodeActive True Served, generation 4" {
			t.Errorf("written when it is taken back: %v", got)
		}
		vn := c.node(t, "front")
		vn.Spec.Backends = node("", "nowhere").Spec.Backends
		c.update(t, vn, true)
		if got := c.written(); !slices.Equal(got, []string{"front"}) ||
			summary(c.node(t, "front")) != "VirtualNodeActive False ReferenceNotFound, generation 5" {
			t.Errorf("written when the front changes: %v, %s", got, summary(c.node(t, "front")))
		}
		// The VirtualService that the front asks for comes: there is something else to say about the front.
		pass(minWriteInterval)
		c.create(t, &api.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "nowhere", Generation: 1}})
		if got := c.written(); !slices.Contains(got, "front") || slices.Contains(got, "other") {
			t.Errorf("written when its backend comes: %v", got)
		}
	})
}

// What others write into a status is kept; what they write over ours is written again, if not at once.
func TestForeignStatusWrites(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		vn := node("front", "")
		vn.Status.Conditions = []api.Condition{{Type: "Mine", Status: "Unknown", Reason: "Asked"}}
		vn.Status.VirtualNodeARN = new("arn:aws:appmesh:of-old")
		c.create(t, mesh(), vn)
		c.run(t)
		const want = "Mine Unknown Asked, VirtualNodeActive True Served, generation 4"
		if got := summary(c.node(t, "front")); got != want {
			t.Errorf("the front: %s", got)
		}
		now := c.node(t, "front")
		if got := *now.Status.VirtualNodeARN; got != "arn:aws:appmesh:of-old" {
			t.Errorf("its resource name became %s", got)
		}
		now.Status.Conditions = now.Status.Conditions[:1]
		if err := c.Status().Update(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		pass(resyncPeriod)
		if got := summary(c.node(t, "front")); got != want {
			t.Errorf("the front, when somebody has written over it: %s", got)
		}
	})
}

func TestFailedWritesAreRetried(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		failures := map[string][]error{
			"front": {apierrors.NewConflict(virtualNodes, "front", errors.New("the object has been modified"))},
			"back":  {errors.New("no answer"), apierrors.NewInternalError(errors.New("etcd"))},
		}
		c.refuse = func(o client.Object) error {
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
			t.Error("one that fails keeps others waiting, or does not fail")
		}
		pass(5 * time.Second)
		if summary(c.node(t, "front")) == "" || summary(c.node(t, "back")) == "" {
			t.Error("failures are the end of it")
		}
		if err := testutil.GatherAndCompare(c.metrics, strings.NewReader(`
# HELP anymesh_status_writes_total Writes of statuses and of pods' readiness gates, by result: written, conflict, gone, failed.
# TYPE anymesh_status_writes_total counter
anymesh_status_writes_total{result="conflict"} 1
anymesh_status_writes_total{result="failed"} 2
anymesh_status_writes_total{result="gone"} 0
anymesh_status_writes_total{result="written"} 4
# HELP anymesh_workqueue_retries_total Reconciliations that failed and are retried, by queue: status, finalizers.
# TYPE anymesh_workqueue_retries_total counter
anymesh_workqueue_retries_total{queue="status"} 3
`), "anymesh_status_writes_total", "anymesh_workqueue_retries_total"); err != nil {
			t.Error(err)
		}
	})
}

// Between a change and a write, objects go away, change, or come back as others: another change will tell.
func TestStaleObjectsAreSkipped(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *cluster, *api.VirtualNode){
		"gone":    func(t *testing.T, c *cluster, o *api.VirtualNode) { c.remove(t, o) },
		"changed": func(t *testing.T, c *cluster, o *api.VirtualNode) { c.update(t, o, false) },
		"another": func(t *testing.T, c *cluster, o *api.VirtualNode) {
			c.remove(t, o)
			again := node("front", "")
			again.UID = "another"
			if err := c.Create(t.Context(), again); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, c *cluster) {
				c.create(t, mesh(), node("front", ""))
				change(t, c, c.node(t, "front"))
				c.run(t)
				if got := c.written(); !slices.Equal(got, []string{"m"}) {
					t.Errorf("written: %v", got)
				}
			})
		})
	}
	t.Run("gone during the write", func(t *testing.T) {
		inCluster(t, func(t *testing.T, c *cluster) {
			c.refuse = func(o client.Object) error { return apierrors.NewNotFound(virtualNodes, o.GetName()) }
			c.create(t, mesh(), node("front", ""))
			c.run(t)
			c.written()
			pass(time.Minute)
			if got := c.written(); len(got) != 0 || c.happened() != "" {
				t.Errorf("tried again: %v", got)
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
	inCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""))
		c.run(t)
		c.flow.Delete(node("front", ""))
		c.flow.Sync()
		c.setDelivered(about("front", "no"))
		pass(time.Second)
		if n := len(c.all()); n != 1 {
			t.Errorf("%d objects are known, not the Mesh alone", n)
		}
	})
}

// The writer must not sort or extend the slice of findings.
func TestFindingsSliceIsNotModified(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		kept := append(make([]model.Finding, 0, 8), about("back", "z"), about("back", "m"))
		c.extra = kept
		c.create(t, mesh(), node("back", "nowhere"))
		c.run(t)
		if want := []model.Finding{about("back", "z"), about("back", "m")}; !slices.Equal(kept, want) ||
			kept[:3][2] != (model.Finding{}) {
			t.Errorf("the list became %v", kept[:3])
		}
	})
}

func TestDuplicateKindIsAnError(t *testing.T) {
	c := newCluster(t)
	o := c.Options
	o.Registerer, o.Dialects = nil, append(o.Dialects, o.Dialects[0])
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "two dialects have a kind") {
		t.Errorf("error %v", err)
	}
}
