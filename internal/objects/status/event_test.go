package status

import (
	"strings"
	"testing"
)

// An event tells that something broke, or is mended; that all is well from the start is no news.
func TestEventsOnConditionChange(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", "nowhere"))
		c.run(t)
		if got := c.happened(); !strings.HasPrefix(got, "Warning ReferenceNotFound spec.backends[0]") ||
			strings.Count(got, "\n") != 0 {
			t.Errorf("events: %s", got)
		}
		vn := c.node(t, "back")
		pass(minWriteInterval)
		c.update(t, vn, true) // the generation that was looked at is another, and nothing else
		if got := c.happened(); got != "" || len(c.written()) == 0 {
			t.Errorf("events about nothing: %s", got)
		}
		pass(resyncPeriod)
		if got := c.happened(); got != "" {
			t.Errorf("events about nothing: %s", got)
		}
		vn = c.node(t, "back")
		vn.Spec.Backends = nil
		c.update(t, vn, true)
		if got := c.happened(); got != "Normal Served VirtualNodeActive is True" {
			t.Errorf("events: %s", got)
		}
	})
}
