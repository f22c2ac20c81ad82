package engine

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

func mesh() *api.Mesh {
	return &api.Mesh{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
	}
}

func node(name string) *api.VirtualNode {
	return &api.VirtualNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name},
		Spec: api.VirtualNodeSpec{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		},
	}
}

func pod(app, uid string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: app + "-1", UID: types.UID(uid), Labels: map[string]string{"app": app},
		},
	}
}

// run runs the engine until the end of the test, in a synctest bubble.
func run(t *testing.T, f *Engine) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// Each event gives one change if events arrive one at a time.
func TestOneChangePerEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes []Change
		f := New(discardLog, dialects, Settings{}, func(c Change) { changes = append(changes, c) })
		f.Set(mesh())
		if f.Ready() || f.State() != nil {
			t.Error("the engine is ready before the first sync")
		}
		run(t, f)
		synctest.Wait()
		if len(changes) != 1 || len(changes[0].Objects) != 1 || !f.Ready() {
			t.Fatalf("initial objects: got %d changes, want 1", len(changes))
		}
		for i := range 3 {
			f.Set(node("n" + strconv.Itoa(i)))
			synctest.Wait()
		}
		if len(changes) != 4 || len(changes[3].Views) != 1 || len(f.State().Views) != 3 {
			t.Errorf("three events: got %d changes, want 4", len(changes))
		}
		f.Delete(node("n0"))
		synctest.Wait()
		if len(changes) != 5 || len(changes[4].Deleted) != 1 || len(f.State().Views) != 2 {
			t.Errorf("deletion: got %d changes, want 5", len(changes))
		}
	})
}

// While a sink runs, events are coalesced into one change.
func TestPendingEventsAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int32
		proceed := make(chan struct{})
		f := New(discardLog, dialects, Settings{})
		f.AddSink(func(Change) {
			seen.Add(1)
			<-proceed
		})
		f.Set(mesh())
		run(t, f)
		synctest.Wait()
		for i := range 100 {
			f.Set(node("n" + strconv.Itoa(i)))
		}
		synctest.Wait()
		close(proceed)
		synctest.Wait()
		if n := seen.Load(); n != 2 {
			t.Errorf("got %d changes, want 2", n)
		}
		if n := len(f.State().Views); n != 100 {
			t.Errorf("got %d workloads, want 100", n)
		}
	})
}

// Since is the arrival time of the first event of a change.
func TestSinceIsTimeOfFirstEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		var last Change
		f := New(discardLog, dialects, Settings{}, func(c Change) {
			last = c
			if slow.Load() {
				time.Sleep(time.Minute) // fake clock
			}
		})
		f.Set(mesh())
		run(t, f)
		synctest.Wait()
		if !last.Since.IsZero() {
			t.Errorf("initial objects: got Since %s, want zero", last.Since)
		}
		slow.Store(true)
		f.Set(node("m"))
		synctest.Wait()
		first := time.Now()
		f.Set(node("n"))
		time.Sleep(time.Second)
		f.Set(node("o"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !last.Since.Equal(first) || len(last.Views) != 2 {
			t.Errorf("got Since %s, want %s", last.Since, first)
		}
	})
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(discardLog, dialects, Settings{})
		views := func(n int) func() bool { return func() bool { return len(f.State().Views) >= n } }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Await(ctx, views(0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the first sync: got error %v", err)
		}
		f.Set(mesh())
		run(t, f)
		if err := f.Await(t.Context(), views(0)); err != nil {
			t.Errorf("condition is true: got error %v", err)
		}
		var done atomic.Bool
		go func() {
			if f.Await(t.Context(), views(2)) == nil {
				done.Store(true)
			}
		}()
		f.Set(node("a"))
		synctest.Wait()
		if done.Load() {
			t.Error("Await returned although the condition is false")
		}
		f.Set(node("b"))
		synctest.Wait()
		if _, ok := f.View(model.Key{Mesh: "m", Name: "b_a"}); !ok || !done.Load() {
			t.Error("Await did not return although the condition is true")
		}
	})
}

// The engine holds a part of each pod, in whatever form it gets pods and is asked for them.
func TestPodsOfEngine(t *testing.T) {
	var change Change
	f := New(discardLog, dialects, Settings{}, func(c Change) { change = c })
	whole := pod("front", "uid-1")
	f.Set(whole)
	f.Sync()
	held, there := f.Pod(client.ObjectKeyFromObject(whole))
	if !there || held.UID != "uid-1" || len(change.Objects) != 1 || change.Objects[0] != client.Object(held) {
		t.Errorf("got pod %+v, change %+v", held, change.Objects)
	}
	for _, kind := range []client.Object{&corev1.Pod{}, &Pod{}} {
		if got := f.ObjectsOf(kind); len(got) != 1 || got[0] != client.Object(held) {
			t.Errorf("%T: got %v", kind, got)
		}
	}
	if ref := dialect.RefOf(held); ref != held.SubjectRef() || ref != dialect.RefOf(whole) {
		t.Errorf("got reference %v", ref)
	}
	newer := whole.DeepCopy()
	newer.ResourceVersion = "2"
	before := f.state.graph.Evaluations()
	f.Set(newer)
	f.Sync()
	if n := f.state.graph.Evaluations() - before; n != 0 {
		t.Errorf("an equal pod caused %d evaluations", n)
	}
	f.Delete(transform(newer).(client.Object))
	f.Sync()
	if _, there := f.Pod(client.ObjectKeyFromObject(whole)); there || len(change.Deleted) != 1 {
		t.Errorf("the pod is not deleted, change %+v", change.Deleted)
	}
}
