package delivery_test

import (
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

const rejectedFinding = "Error RejectedBySidecar VirtualNode a/back spec.listeners[0]: the envoy sidecars of workload m/front_a reject " + toBack + ": no"

// version returns the published version of the cluster of back.
func (f *fixture) version() string {
	return f.VersionOf(front, xds.Ref{TypeURL: clusters, Name: toBack})
}

// nack rejects the published version of the cluster of back.
func (f *fixture) nack(identity, message string) {
	f.Nacked(front.String(), identity, clusters, map[string]string{toBack: f.version()}, message)
}

// slowDriver renders only after it is released.
type slowDriver struct {
	envoy.Driver
	started, release chan struct{}
}

func (s slowDriver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	s.started <- struct{}{}
	<-s.release
	return s.Driver.Render(v)
}

func (s slowDriver) RenderOutbound(mesh model.Mesh, r *model.OutboundView) ([]sidecar.Resource, []model.Finding) {
	s.started <- struct{}{}
	<-s.release
	return s.Driver.RenderOutbound(mesh, r)
}

// ACKs and NACKs are processed while a view is rendered.
func TestAcknowledgementsDoNotWaitForRendering(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	version := f.version()
	slow := slowDriver{started: make(chan struct{}), release: make(chan struct{})}
	f.SetRenderer(slow)
	rendered, changed := make(chan struct{}), objects(t, strings.Replace(shop, "back.example", "elsewhere.example", 1))
	go func() {
		defer close(rendered)
		f.apply(changed)
	}()
	<-slow.started
	acknowledged := make(chan struct{})
	go func() {
		defer close(acknowledged)
		f.Nacked(front.String(), "p1", clusters, map[string]string{toBack: version}, "no")
		f.Acked(front.String(), "p1", clusters, "1", nil)
		f.Disconnected(front.String(), "p1")
	}()
	select {
	case <-acknowledged:
	case <-time.After(2 * time.Minute):
		t.Error("an acknowledgement waits for the rendering of a view")
	}
	close(slow.release)
	go func() {
		for range slow.started { // of other views
		}
	}()
	<-rendered
	close(slow.started)
	<-acknowledged
}

func TestNackBecomesFindingOnOrigin(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	f.Nacked(front.String(), "p1", clusters, map[string]string{toBack: f.version(), "unknown cluster": "1"}, "no")
	if got := texts(f.Findings()); got != rejectedFinding {
		t.Errorf("got findings\n%s\nwant\n%s", got, rejectedFinding)
	}
	if f.changed != 1 {
		t.Errorf("got %d callbacks, want 1", f.changed)
	}
	f.nack("p1", "no")
	if f.changed != 1 {
		t.Error("a repeated NACK calls the callback")
	}
	f.Nacked("m/missing", "p1", clusters, map[string]string{toBack: f.version()}, "no")
	if len(f.Findings()) != 1 {
		t.Error("a NACK of an unknown workload has a finding")
	}
}

func TestAckRemovesRejection(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	f.nack("p1", "no")
	f.Acked(front.String(), "p1", listeners, "1", nil)
	f.Acked(back.String(), "p1", clusters, "1", nil)
	if len(f.Findings()) != 1 || f.changed != 1 {
		t.Error("an ACK of another type or workload removes the finding")
	}
	f.Acked(front.String(), "p1", clusters, "1", nil)
	if len(f.Findings()) != 0 || f.changed != 2 {
		t.Errorf("after the ACK: got findings %s", texts(f.Findings()))
	}
	f.Acked(front.String(), "p1", clusters, "1", nil)
	if f.changed != 2 {
		t.Error("a repeated ACK calls the callback")
	}
}

func TestRejectionsOfSeveralSidecars(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	f.nack("p1", "no")
	f.nack("p2", "no")
	if got := texts(f.Findings()); got != rejectedFinding || f.changed != 1 {
		t.Errorf("equal NACKs of two sidecars: %d callbacks, findings\n%s", f.changed, got)
	}
	f.nack("p3", "never")
	if got := f.Findings(); len(got) != 2 || f.changed != 2 {
		t.Errorf("NACK with another message: %d callbacks, findings\n%s", f.changed, texts(got))
	}
	f.Acked(front.String(), "p1", clusters, "1", nil)
	if got := f.Findings(); len(got) != 2 || f.changed != 2 {
		t.Errorf("ACK of one of two sidecars: %d callbacks, findings\n%s", f.changed, texts(got))
	}
	f.Disconnected(front.String(), "p3")
	if got := texts(f.Findings()); got != rejectedFinding || f.changed != 3 {
		t.Errorf("one sidecar disconnected: %d callbacks, findings\n%s", f.changed, got)
	}
	f.Disconnected(back.String(), "p2")
	f.Disconnected(front.String(), "p2")
	if got := f.Findings(); len(got) != 0 || f.changed != 4 {
		t.Errorf("all sidecars disconnected: %d callbacks, findings\n%s", f.changed, texts(got))
	}
}

// The finding ends with the rejected resource, even if no sidecar is connected that could acknowledge it.
func TestRejectionEndsWhenResourceChanges(t *testing.T) {
	documents := strings.Split(shop, "\n---\n")
	for name, now := range map[string]string{
		"workload deleted": documents[0],
		"backend removed":  strings.Replace(shop, ", backends: [{virtualService: {virtualServiceRef: {name: back}}}]", "", 1),
		"resource changed": strings.Replace(shop, "back.example", "elsewhere.example", 1),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.applyYAML(t, shop)
			f.nack("p1", "no")
			f.applyYAML(t, now)
			if got := f.Findings(); len(got) != 0 {
				t.Errorf("got findings %s", texts(got))
			}
		})
	}
}

// The finding is reported at the current origin of the resource.
func TestRejectionFollowsOrigin(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	f.nack("p1", "no")
	f.applyYAML(t, strings.Replace(shop, "metadata: {name: back, namespace: a}\nspec:\n",
		"metadata: {name: back2, namespace: a}\nspec:\n  awsName: back_a\n", 1))
	if state := f.engine.State(); state.Views[front] == nil || state.Views[back] == nil {
		t.Fatal("missing views: the test changed the workloads")
	}
	for _, finding := range f.Findings() {
		if finding.Object.Name == "back" {
			t.Errorf("got a finding about a deleted object: %s", finding)
		}
	}
}

// TestAckOfOneResource checks that an ACK removes the finding about what is accepted, and keeps the message of others.
func TestAckOfOneResource(t *testing.T) {
	f := newFixture(t)
	f.applyYAML(t, shop)
	f.nack("p1", "no")
	f.Nacked(front.String(), "p1", clusters, map[string]string{"another": "1"}, "never")
	f.Acked(front.String(), "p1", clusters, "1", map[string]string{toBack: f.version()})
	if got := texts(f.Findings()); got != rejectedFinding {
		t.Errorf("after the ACK of another resource: got findings %s", got)
	}
	f.Acked(front.String(), "p1", clusters, "1", map[string]string{"another": "1"})
	if got := f.Findings(); len(got) != 0 {
		t.Errorf("after its ACK: got findings %s", texts(got))
	}
}
