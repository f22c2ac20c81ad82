package status

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/flow"
	"anymesh.dev/anymesh/model"
)

func items(list client.ObjectList) ([]client.Object, error) {
	all, err := meta.ExtractList(list)
	var out []client.Object
	for _, o := range all {
		out = append(out, o.(client.Object))
	}
	return out, err
}

func TestStatusIsWrittenOnce(t *testing.T) {
	c := newCluster(t, mesh(), node("front", ""), node("back", "nowhere"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}})
	if c.do(t) {
		t.Error("something is left to do")
	}
	if n := c.written(); n != 3 {
		t.Errorf("%d writes for a Mesh and two VirtualNodes", n)
	}
	if got := summary(c.node(t, "front")); got != "VirtualNodeActive True Served, generation 4" {
		t.Errorf("the front: %s", got)
	}
	if got := summary(c.node(t, "back")); got != "VirtualNodeActive False ReferenceNotFound, generation 4" {
		t.Errorf("the back: %s", got)
	}
	for range 3 {
		if c.do(t); c.written() != 0 {
			t.Error("nothing changed, and something was written")
		}
	}
}

func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	c := newCluster(t, mesh(), node("front", ""), node("back", ""))
	c.do(t)
	c.written()
	c.extra = []model.Finding{model.NewFinding(model.Origin{Object: model.ObjectRef{Kind: "VirtualNode", Namespace: "a", Name: "back"}}, model.CodeRejected, "no")}
	c.do(t)
	if n := c.written(); n != 1 {
		t.Errorf("%d writes for a finding about one object", n)
	}
	if got := summary(c.node(t, "back")); got != "VirtualNodeActive False RejectedBySidecar, generation 4" {
		t.Errorf("the back: %s", got)
	}
}

// What others write into a status is kept.
func TestOtherConditionsStay(t *testing.T) {
	vn := node("front", "")
	vn.Status.Conditions = []api.Condition{{Type: "Mine", Status: "Unknown", Reason: "Asked"}}
	vn.Status.VirtualNodeARN = new("arn:aws:appmesh:of-old")
	c := newCluster(t, mesh(), vn)
	c.do(t)
	if got := summary(c.node(t, "front")); got != "Mine Unknown Asked, VirtualNodeActive True Served, generation 4" {
		t.Errorf("the front: %s", got)
	}
	if got := *c.node(t, "front").Status.VirtualNodeARN; got != "arn:aws:appmesh:of-old" {
		t.Errorf("its resource name became %s", got)
	}
}

// An event tells that something broke, or is mended; that all is well from the start is no news.
func TestEvents(t *testing.T) {
	c := newCluster(t, mesh(), node("front", ""), node("back", "nowhere"))
	c.do(t)
	if got := c.happened(); !strings.HasPrefix(got, "Warning ReferenceNotFound spec.backends[0]") || strings.Count(got, "\n") != 0 {
		t.Errorf("events: %s", got)
	}
	c.do(t)
	if got := c.happened(); got != "" {
		t.Errorf("events about nothing: %s", got)
	}
	vn := c.node(t, "back")
	vn.Spec.Backends = nil
	if err := c.Update(t.Context(), vn); err != nil {
		t.Fatal(err)
	}
	c.do(t)
	if got := c.happened(); got != "Normal Served VirtualNodeActive is True" {
		t.Errorf("events: %s", got)
	}
}

func TestConflictsAreTriedAgain(t *testing.T) {
	c := newCluster(t, mesh(), node("front", ""))
	stale := true
	c.refuse = func(o client.Object) error {
		if stale && o.GetName() == "front" {
			stale = false
			return apierrors.NewConflict(schema.GroupResource{Resource: "virtualnodes"}, "front", errors.New("the object has been modified"))
		}
		return nil
	}
	if !c.do(t) {
		t.Error("a conflict is the end of it")
	}
	if got := c.node(t, "front").Status.Conditions; len(got) != 0 {
		t.Errorf("status of the front: %v", got)
	}
	if c.do(t) {
		t.Error("something is left to do after the second pass")
	}
	if got := summary(c.node(t, "front")); got != "VirtualNodeActive True Served, generation 4" {
		t.Errorf("the front: %s", got)
	}
}

// One object that cannot be written must not keep the others waiting.
func TestOneRefusalDoesNotStopTheOthers(t *testing.T) {
	c := newCluster(t, mesh(), node("back", ""), node("front", ""))
	c.refuse = func(o client.Object) error {
		if o.GetName() == "back" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "virtualnodes"}, "back", errors.New("no"))
		}
		return nil
	}
	if !c.do(t) || c.written() != 3 {
		t.Error("not everything was tried, or nothing is left to do")
	}
	if got := summary(c.node(t, "front")); got == "" {
		t.Error("the front has no status")
	}
}

// Between a state and a write, objects go away, change, or come back as others: a newer state will tell.
func TestObjectsThatMovedOn(t *testing.T) {
	for name, change := range map[string]func(*cluster, *api.VirtualNode) error{
		"gone": func(c *cluster, o *api.VirtualNode) error { return c.Delete(t.Context(), o) },
		"changed": func(c *cluster, o *api.VirtualNode) error {
			o.Generation++
			return c.Update(t.Context(), o)
		},
		"another": func(c *cluster, o *api.VirtualNode) error {
			if err := c.Delete(t.Context(), o); err != nil {
				return err
			}
			again := node("front", "")
			again.UID = "another"
			return c.Create(t.Context(), again)
		},
	} {
		c := newCluster(t, mesh(), node("front", ""))
		state := c.state(t)
		c.State = func() *flow.State { return state }
		if err := change(c, c.node(t, "front")); err != nil {
			t.Fatal(err)
		}
		if c.do(t) || c.written() != 1 {
			t.Errorf("%s: it was written, or is to be tried again", name)
		}
	}
	c := newCluster(t, mesh(), node("front", ""))
	c.refuse = func(o client.Object) error {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "virtualnodes"}, o.GetName())
	}
	if c.do(t) {
		t.Error("an object that went away during the write is to be tried again")
	}
	if got := c.happened(); got != "" {
		t.Errorf("events: %s", got)
	}
}

// Whoever gives findings may keep the list; the writer must not sort it, nor write behind it.
func TestFindingsBelongToWhoGaveThem(t *testing.T) {
	c := newCluster(t, mesh(), node("back", "nowhere"))
	finding := func(name string) model.Finding {
		return model.NewFinding(model.Origin{Object: model.ObjectRef{Kind: "Mesh", Name: name}}, model.CodeRejected, "no")
	}
	kept := append(make([]model.Finding, 0, 8), finding("z"), finding("m"))
	c.extra = kept
	c.do(t)
	if want := []model.Finding{finding("z"), finding("m")}; !slices.Equal(kept, want) || kept[:3][2] != (model.Finding{}) {
		t.Errorf("the list became %v", kept[:3])
	}
}

func TestBeforeTheFirstState(t *testing.T) {
	c := newCluster(t, mesh())
	c.State = func() *flow.State { return nil }
	if c.do(t) || c.written() != 0 {
		t.Error("there is no state, and something is to be done")
	}
}

// The writer sleeps until it is woken, or until it is time to try again.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, mesh())
		fail := true
		c.refuse = func(client.Object) error {
			if fail {
				fail = false
				return errors.New("no answer")
			}
			return nil
		}
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			c.Run(ctx)
			close(done)
		}()
		synctest.Wait()
		if n := c.written(); n != 1 {
			t.Errorf("%d writes at first", n)
		}
		time.Sleep(2 * retryAfter) // of the bubble's time
		synctest.Wait()
		if n := c.written(); n != 1 {
			t.Errorf("%d writes when it is time to try again", n)
		}
		for range 10 {
			c.Wake()
		}
		synctest.Wait()
		if n := c.written(); n != 0 {
			t.Errorf("%d writes for being woken", n)
		}
		cancel()
		<-done
	})
}
