package status

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// The writer has no state of objects whose status is written and whose findings do not change.
func TestStateOfUnchangedObjects(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", "nowhere"))
		c.run(t)
		advance(time.Minute)
		c.create(t, &api.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "nowhere", Generation: 1}})
		advance(time.Minute)
		if writes := len(c.takeWrites()); writes != 5 {
			t.Errorf("got %d writes, want one of each object and another one of back", writes)
		}
		if n := len(c.states.unsettled) + len(c.states.reported); n != 0 {
			t.Errorf("got %d states: %+v", n, c.states)
		}
	})
}

// Times of writes are kept for as long as other writes wait because of them.
func TestOldTimesOfWritesAreRemoved(t *testing.T) {
	const perSecond = 2 * minSwept
	s, begin := newStates(), time.Unix(100, 0)
	for i := range 100 * perSecond {
		at := begin.Add(time.Duration(i) * time.Second / perSecond)
		ref := model.ObjectRef{Name: fmt.Sprint(i)}
		s.markWritten(ref, at)
		if n := len(s.written); n > 2*perSecond {
			t.Fatalf("the times of %d writes are kept", n)
		}
		if got := s.wait(ref, at); got != minWriteInterval {
			t.Fatalf("got %s, want %s", got, minWriteInterval)
		}
	}
}

func TestWait(t *testing.T) {
	begin := time.Unix(100, 0)
	at := begin.Add
	ref := model.ObjectRef{Name: "a"}
	s := newStates()
	check := func(when time.Duration, want time.Duration) {
		t.Helper()
		if got := max(0, s.wait(ref, at(when))); got != want {
			t.Errorf("after %s: got %s, want %s", when, got, want)
		}
	}
	check(0, 0)
	s.findingsChanged(ref, 1, at(0))
	check(0, findingsDelay)
	s.findingsChanged(ref, 1, at(findingsDelay/2))
	check(findingsDelay/2, findingsDelay)
	s.findingsChanged(ref, 1, at(maxFindingsDelay))
	check(maxFindingsDelay-findingsDelay/2, findingsDelay/2)
	s.objectChanged(ref, 1)
	check(maxFindingsDelay-findingsDelay/2, findingsDelay/2)
	s.objectChanged(ref, 2)
	check(0, 0)
	s.findingsChanged(ref, 2, at(0))
	s.markSettled(ref)
	check(0, 0)
	s.markWritten(ref, at(0))
	check(minWriteInterval/4, minWriteInterval*3/4)
	s.remove(ref)
	check(0, 0)
}
