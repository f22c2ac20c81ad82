package flow

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

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

func mesh() *api.Mesh {
	return &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}}}
}

func node(name string) *api.VirtualNode {
	return &api.VirtualNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name},
		Spec:       api.VirtualNodeSpec{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
	}
}

func pod(app, uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: app + "-1", UID: types.UID(uid), Labels: map[string]string{"app": app}}}
}

// run starts a flow in a bubble where time and goroutines stand still for the test to look.
func run(t *testing.T, f *Flow) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the flow ended with %v", err)
		}
	})
}

// Nothing is recomputed while nothing changes.
func TestOneStateForOneChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var states []*State
		f := New(quiet, dialects, func(old, now *State) {
			if len(states) > 0 && old != states[len(states)-1] || len(states) == 0 && old != nil {
				t.Error("the state before is not the one that was handed out before")
			}
			states = append(states, now)
		})
		f.Set(ID{Name: "m"}, mesh())
		run(t, f)
		synctest.Wait()
		if len(states) != 1 || len(states[0].Objects) != 1 {
			t.Fatalf("%d states for what was there at the start", len(states))
		}
		for i := range 3 {
			f.Set(ID{Name: "n" + strconv.Itoa(i)}, node("n"+strconv.Itoa(i)))
			synctest.Wait()
		}
		if len(states) != 4 || len(states[3].Views) != 3 {
			t.Errorf("%d states after three changes, one at a time", len(states))
		}
		f.Delete(ID{Name: "nobody"})
		synctest.Wait()
		if len(states) != 4 {
			t.Error("a state was made because something went away that was not there")
		}
		f.Delete(ID{Name: "n0"})
		synctest.Wait()
		if len(states) != 5 || len(states[4].Views) != 2 {
			t.Errorf("%d states after a deletion", len(states))
		}
	})
}

// A slow sink sees fewer states; the last one holds everything.
func TestChangesAreTakenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen atomic.Int32
		proceed := make(chan struct{})
		f := New(quiet, dialects)
		f.AddSink(func(_, _ *State) {
			seen.Add(1)
			<-proceed
		})
		f.Set(ID{Name: "m"}, mesh())
		run(t, f)
		synctest.Wait()
		for i := range 100 {
			f.Set(ID{Name: "n" + strconv.Itoa(i)}, node("n"+strconv.Itoa(i)))
		}
		synctest.Wait()
		close(proceed)
		synctest.Wait()
		if n := seen.Load(); n != 2 {
			t.Errorf("the sink saw %d states, not the first and the last", n)
		}
		if n := len(f.State().Views); n != 100 {
			t.Errorf("the last state has %d of 100 workloads", n)
		}
	})
}

// Changed is when the first change came in, so that one can tell how long users wait.
func TestChangedIsWhenTheFirstChangeCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		f := New(quiet, dialects, func(_, _ *State) {
			if slow.Load() {
				time.Sleep(time.Minute) // of the bubble's time
			}
		})
		run(t, f)
		synctest.Wait()
		if c := f.State().Changed; !c.IsZero() {
			t.Errorf("nothing changed, at %s", c)
		}
		slow.Store(true)
		f.Set(ID{Name: "m"}, mesh())
		synctest.Wait()
		first := time.Now()
		f.Set(ID{Name: "n"}, node("n"))
		time.Sleep(time.Second)
		f.Set(ID{Name: "o"}, node("o"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := f.State().Changed; !got.Equal(first) || len(f.State().Views) != 2 {
			t.Errorf("changed at %s, the first change came at %s", got, first)
		}
	})
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(quiet, dialects)
		ready := func(n int) func(*State) bool { return func(s *State) bool { return len(s.Views) >= n } }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Await(ctx, ready(0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the first state: %v", err)
		}
		f.Set(ID{Name: "m"}, mesh())
		run(t, f)
		if _, err := f.Await(t.Context(), ready(0)); err != nil {
			t.Errorf("with a state that will do: %v", err)
		}
		var got *State
		go func() { got, _ = f.Await(t.Context(), ready(2)) }()
		f.Set(ID{Name: "a"}, node("a"))
		synctest.Wait()
		if got != nil {
			t.Errorf("one view was enough, where two were asked for: %v", got.Views)
		}
		f.Set(ID{Name: "b"}, node("b"))
		synctest.Wait()
		if got == nil || got.Views[model.Key{Mesh: "m", Name: "b_a"}] == nil {
			t.Error("the state that was waited for did not come")
		}
	})
}
