package finalizers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
)

// cluster is an API server in memory with a releaser at work on it.
type cluster struct {
	client.WithWatch
	*Remover
	recorder *events.FakeRecorder

	mu     sync.Mutex
	reads  int
	refuse error // of reads
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &cluster{recorder: events.NewFakeRecorder(1000)}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	counted := interceptor.NewClient(c.WithWatch,
		interceptor.Funcs{Get: func(ctx context.Context, under client.WithWatch, k client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			c.mu.Lock()
			c.reads++
			err := c.refuse
			c.mu.Unlock()
			if err != nil {
				return err
			}
			return under.Get(ctx, k, o, opts...)
		}})
	c.Remover = New(Options{
		Dialects: []Dialect{appmesh.Dialect{}}, Client: counted, Recorder: c.recorder,
		Log: slog.New(slog.DiscardHandler),
	})
	for _, o := range objects {
		c.notice(t, o)
	}
	return c
}

// notice tells the releaser how an object is now; without one, that it is gone.
func (c *cluster) notice(t *testing.T, o client.Object) (gone bool) {
	t.Helper()
	now := o.DeepCopyObject().(client.Object)
	switch err := c.Get(t.Context(), client.ObjectKeyFromObject(o), now); {
	case apierrors.IsNotFound(err):
		c.Changed(engine.Change{Deleted: []client.Object{o}})
		return true
	case err != nil:
		t.Fatal(err)
	}
	c.Changed(engine.Change{Objects: []client.Object{now}})
	return false
}

// answer sets what reads come to from now on.
func (c *cluster) answer(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = err
}

// asked is how many reads there were when nobody has anything left to do.
func (c *cluster) asked() int {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads
}

func (c *cluster) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	synctest.Wait()
	return stop
}

func (c *cluster) delete(t *testing.T, o client.Object) (gone bool) {
	t.Helper()
	if err := c.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	c.notice(t, o)
	synctest.Wait()
	return c.notice(t, o)
}

// Whatever the order in which everything is deleted, nothing is left.
func TestAllObjectsAreDeletedInAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			m := mesh(false, meshMembers, appMeshResources)
			objects := []client.Object{m}
			for i := range 4 {
				objects = append(objects, node(fmt.Sprintf("n%d", i), m, false, appMeshResources, cloudMapResources))
			}
			door := &api.VirtualGateway{ObjectMeta: meta("g", false, gatewayMembers, appMeshResources)}
			door.Spec.MeshRef = &api.MeshReference{Name: m.Name, UID: m.UID}
			route := &api.GatewayRoute{ObjectMeta: meta("r", false, appMeshResources)}
			route.Spec.MeshRef, route.Spec.VirtualGatewayRef = door.Spec.MeshRef, &api.VirtualGatewayReference{Name: "g", UID: door.UID}
			objects = append(objects, door, route)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(objects), func(i, j int) {
				objects[i], objects[j] = objects[j], objects[i]
			})
			c := newCluster(t, objects...)
			c.run(t)
			for _, o := range objects {
				c.delete(t, o)
			}
			for range 3 { // what let others go is seen to be gone
				for _, o := range objects {
					c.notice(t, o)
				}
				synctest.Wait()
			}
			for _, o := range objects {
				if !c.notice(t, o) {
					t.Errorf("seed %d: %T %s is still there", seed, o, o.GetName())
				}
			}
			if n := len(c.index.objects) + len(c.index.uids) + len(c.index.members) + len(c.reminded); n != 0 {
				t.Errorf("seed %d: %d things are remembered of nothing", seed, n)
			}
		})
	}
}

// A Mesh says for whom it waits, each minute, and is let go when the last of them has gone. Those that stay cost
// nothing.
func TestMeshWaitsForMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mesh(false, meshMembers, appMeshResources)
		n1, n2 := node("n1", m, false), node("n2", m, false)
		other := mesh(false)
		other.UID = "of an earlier m"
		c := newCluster(t, m, n1, n2, node("stays", other, false, appMeshResources))
		c.run(t)
		if c.delete(t, m) {
			t.Fatal("a Mesh with members is gone")
		}
		for i := range 3 {
			time.Sleep(reminderInterval)
			c.notice(t, m) // that it changes is no reason to say it again
			synctest.Wait()
			if n := len(c.recorder.Events); n != i+2 {
				t.Errorf("%d events after %d minutes", n, i+1)
			}
		}
		if e := <-c.recorder.Events; !strings.HasPrefix(e, "Warning PendingMembersDeletion") ||
			!strings.Contains(e, "a/n1, VirtualNode a/n2") {
			t.Errorf("event %q", e)
		}
		if !c.delete(t, n1) || c.notice(t, m) || c.asked() != 0 {
			t.Errorf("one of two members is gone, and it came to %d reads", c.asked())
		}
		if c.delete(t, n2); !c.notice(t, m) || c.asked() != 1 {
			t.Errorf("a Mesh without members is still there, after %d reads", c.asked())
		}
	})
}

// A new leader finds objects that are being deleted. Failed reconciliations are retried.
func TestNextLeaderResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mesh(false)
		n := node("n", m, false, appMeshResources)
		c := newCluster(t, m, n)
		c.run(t)()
		if c.delete(t, n) {
			t.Fatal("nobody works, and it is gone")
		}
		c.answer(errors.New("no answer"))
		c.run(t)
		if reads := c.asked(); reads != 1 {
			t.Fatalf("the API server does not answer, and there were %d reads", reads)
		}
		if c.notice(t, n) {
			t.Fatal("the API server does not answer, and it is gone")
		}
		synctest.Wait() // for the look that the notice asked for
		c.answer(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !c.notice(t, n) {
			t.Error("it is still there")
		}
	})
}
