package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// A condition that is False for warningDelay, or then becomes True again, causes an event. A condition that is True
// from the start causes none.
func TestEventsOnConditionChange(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", "nowhere"))
		c.run(t)
		advance(warningDelay - 10*time.Millisecond)
		if got := c.takeEvents(); got != "" || summary(c.node(t, "back")) != "VirtualNodeActive False ReferenceNotFound, generation 4" {
			t.Errorf("too early: got events: %s, status %s", got, summary(c.node(t, "back")))
		}
		advance(20 * time.Millisecond)
		if got := c.takeEvents(); !strings.HasPrefix(got, "Warning ReferenceNotFound spec.backends[0]") ||
			strings.Count(got, "\n") != 0 {
			t.Errorf("got events: %s", got)
		}
		vn := c.node(t, "back")
		advance(minWriteInterval)
		c.update(t, vn, true) // changes only observedGeneration
		if got := c.takeEvents(); got != "" || len(c.takeWrites()) == 0 {
			t.Errorf("no condition changed: got events: %s", got)
		}
		advance(resyncPeriod)
		if got := c.takeEvents(); got != "" {
			t.Errorf("no condition changed: got events: %s", got)
		}
		vn = c.node(t, "back")
		vn.Spec.Backends = nil
		c.update(t, vn, true)
		if got := c.takeEvents(); got != "Normal Served VirtualNodeActive is True" {
			t.Errorf("got events: %s", got)
		}
	})
}

// An object without conditions has an event when its errors change.
func TestEventsOfObjectsWithoutConditions(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		group := &api.BackendGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "all"}}
		group.Spec.VirtualServices = []api.VirtualServiceReference{{Name: "gone"}}
		c.create(t, mesh(), group)
		c.run(t)
		const missing = "Warning ReferenceNotFound spec.virtualservices[0].name: VirtualService a/gone does not exist"
		if got := c.takeEvents(); got != "" {
			t.Errorf("too early: got events: %s", got)
		}
		advance(warningDelay)
		if got := c.takeEvents(); got != missing {
			t.Errorf("got events: %s", got)
		}
		advance(resyncPeriod)
		if got := c.takeEvents(); got != "" {
			t.Errorf("nothing changed: got events: %s", got)
		}
		group.Spec.VirtualServices = nil
		c.update(t, group, true)
		if got := c.takeEvents(); got != "Normal Served no errors" {
			t.Errorf("got events: %s", got)
		}
		ofGroup := func(write string) bool { return strings.Contains(write, "BackendGroup") }
		if got := c.takeWrites(); slices.ContainsFunc(got, ofGroup) {
			t.Errorf("got writes %v", got)
		}
	})
}

// Objects that are created in an order in which references are missing for a moment cause no events.
func TestNoEventsOfShortFaults(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		group := &api.BackendGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "all"}}
		group.Spec.VirtualServices = []api.VirtualServiceReference{{Name: "nowhere"}}
		c.create(t, mesh(), node("back", "nowhere"), group)
		c.run(t)
		if got := summary(c.node(t, "back")); got != "VirtualNodeActive False ReferenceNotFound, generation 4" {
			t.Errorf("got status %s", got)
		}
		advance(warningDelay / 2)
		c.create(t, &api.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "nowhere", Generation: 1}})
		advance(2 * warningDelay)
		if got := summary(c.node(t, "back")); got != "VirtualNodeActive True Served, generation 4" {
			t.Errorf("got status %s", got)
		}
		if got := c.takeEvents(); got != "" {
			t.Errorf("got events: %s", got)
		}
	})
}
