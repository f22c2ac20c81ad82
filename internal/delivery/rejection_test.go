package delivery_test

import (
	"strings"
	"testing"
)

const refused = "Error RejectedBySidecar VirtualNode a/back spec.listeners[0]: the envoy sidecars of workload m/front_a refuse " + toBack + ": no"

func TestNackBecomesFindingOnOrigin(t *testing.T) {
	f := newFixture(t)
	f.mean(t, shop)
	f.Nacked(front.String(), "p1", clusters, []string{toBack, "a cluster that nobody rendered"}, "no")
	if got := texts(f.Findings()); got != refused {
		t.Errorf("findings:\n%s\nwant\n%s", got, refused)
	}
	if f.changed != 1 {
		t.Errorf("the change was told %d times", f.changed)
	}
	f.Nacked(front.String(), "p1", clusters, []string{toBack}, "no")
	if f.changed != 1 {
		t.Error("a sidecar that repeats itself wakes everybody up")
	}
	f.Nacked("m/nobody", "p1", clusters, []string{toBack}, "no")
	if len(f.Findings()) != 1 || f.changed != 1 {
		t.Error("a workload that does not exist refuses something")
	}
}

func TestAckRemovesRejection(t *testing.T) {
	f := newFixture(t)
	f.mean(t, shop)
	f.Nacked(front.String(), "p1", clusters, []string{toBack}, "no")
	f.Acked(front.String(), "p1", listeners, "1")
	f.Acked(back.String(), "p1", clusters, "1")
	if len(f.Findings()) != 1 || f.changed != 1 {
		t.Error("another type, or another workload, took the refusal back")
	}
	f.Acked(front.String(), "p1", clusters, "1")
	if len(f.Findings()) != 0 || f.changed != 2 {
		t.Errorf("accepted, and still: %s", texts(f.Findings()))
	}
	f.Acked(front.String(), "p1", clusters, "1")
	if f.changed != 2 {
		t.Error("every acceptance wakes everybody up")
	}
}

func TestRejectionsOfSeveralSidecars(t *testing.T) {
	f := newFixture(t)
	f.mean(t, shop)
	f.Nacked(front.String(), "p1", clusters, []string{toBack}, "no")
	f.Nacked(front.String(), "p2", clusters, []string{toBack}, "no")
	if got := texts(f.Findings()); got != refused || f.changed != 1 {
		t.Errorf("two say the same; changed %d times:\n%s", f.changed, got)
	}
	f.Nacked(front.String(), "p3", clusters, []string{toBack}, "never")
	if got := f.Findings(); len(got) != 2 || f.changed != 2 {
		t.Errorf("a third says something else; changed %d times:\n%s", f.changed, texts(got))
	}
	f.Acked(front.String(), "p1", clusters, "1")
	if got := f.Findings(); len(got) != 2 || f.changed != 2 {
		t.Errorf("one accepts what another refuses; changed %d times:\n%s", f.changed, texts(got))
	}
	f.Disconnected(front.String(), "p3")
	if got := texts(f.Findings()); got != refused || f.changed != 3 {
		t.Errorf("one that refused is gone; changed %d times:\n%s", f.changed, got)
	}
	f.Disconnected(back.String(), "p2")
	f.Disconnected(front.String(), "p2")
	if got := f.Findings(); len(got) != 0 || f.changed != 4 {
		t.Errorf("all are gone; changed %d times:\n%s", f.changed, texts(got))
	}
}

// Without a sidecar that could still accept, nobody else would take the refusal back.
func TestRejectionEndsWhenResourceChanges(t *testing.T) {
	documents := strings.Split(shop, "\n---\n")
	for name, now := range map[string]string{
		"the workload is gone": documents[0],
		"the backend is gone":  strings.Replace(shop, ", backends: [{virtualService: {virtualServiceRef: {name: back}}}]", "", 1),
		"the resource changed": strings.Replace(shop, "back.example", "elsewhere.example", 1),
	} {
		f := newFixture(t)
		f.mean(t, shop)
		f.Nacked(front.String(), "p1", clusters, []string{toBack}, "no")
		f.mean(t, now)
		if got := f.Findings(); len(got) != 0 {
			t.Errorf("%s: %s", name, texts(got))
		}
	}
}

// The same resource may come from another field than before.
func TestRejectionFollowsOrigin(t *testing.T) {
	f := newFixture(t)
	f.mean(t, shop)
	f.Nacked(front.String(), "p1", clusters, []string{toBack}, "no")
	f.mean(t, strings.Replace(shop, "metadata: {name: back, namespace: a}\nspec:\n",
		"metadata: {name: back2, namespace: a}\nspec:\n  awsName: back_a\n", 1))
	if state := f.flow.State(); state.Views[front] == nil || state.Views[back] == nil {
		t.Fatal("the case does not do what it should")
	}
	for _, finding := range f.Findings() {
		if finding.Object.Name == "back" {
			t.Errorf("an object that is gone is told: %s", finding)
		}
	}
}
