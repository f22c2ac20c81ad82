package status

import (
	"strings"
	"testing"
)

// A condition that changes to False or back to True causes an event. A condition that is True from the start causes
// none.
func TestEventsOnConditionChange(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", "nowhere"))
		c.run(t)
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
