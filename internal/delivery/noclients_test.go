package delivery_test

import (
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// shiftFindings is a driver with a finding about each service of which a target has the weight 7.
type shiftFindings struct{ envoy.Driver }

func (d shiftFindings) RenderBinding(mesh model.Mesh, port uint16, b model.Binding,
	find func(string) (model.Destination, bool)) ([]sidecar.Resource, []model.Finding) {
	resources, findings := d.Driver.RenderBinding(mesh, port, b, find)
	for _, to := range b.Routes[0].Action.Destinations {
		if to.Weight == 7 {
			findings = append(findings, model.NewFinding(b.Origin, model.CodeInvalidField, "7"))
		}
	}
	return resources, findings
}

// checkFindings checks that the findings have exactly the wanted text, that the callback was called, and that nothing
// is published.
func (f *fixture) checkFindings(t *testing.T, when, want string) {
	t.Helper()
	if got := texts(f.Findings()); got != want {
		t.Errorf("%s: got findings\n%s\nwant\n%s", when, got, want)
	}
	if f.changed == 0 {
		t.Errorf("%s: no callback", when)
	}
	f.changed = 0
	if calls := f.publisher.takeCalls(); len(calls) != 0 || f.rendered(t)["destination"] != 0 {
		t.Errorf("%s: got calls %q, renderings %v", when, calls, f.rendered(t))
	}
}

// Changes of objects change the findings about workloads without clients.
func TestFindingsWithoutClients(t *testing.T) {
	t.Run("binding", func(t *testing.T) {
		f, _ := newClientFixture(t)
		f.SetRenderer(shiftFindings{})
		shift := func(services ...int) {
			for i := range 3 {
				f.engine.Set(shiftedTo(t, i, 1))
			}
			for _, i := range services {
				f.engine.Set(shiftedTo(t, i, 7))
			}
			f.engine.Sync()
		}
		for _, o := range shiftObjects(t, 3, 2) {
			f.engine.Set(o)
		}
		const first, second = "Error InvalidField VirtualService a/s0000: 7", "Error InvalidField VirtualService a/s0001: 7"
		shift(1)
		f.checkFindings(t, "start", second)
		shift(0, 1)
		f.checkFindings(t, "one more", first+"\n"+second)
		shift(0)
		f.checkFindings(t, "one less", first)
		shift()
		f.checkFindings(t, "none", "")
	})
	t.Run("unsupported feature", func(t *testing.T) {
		f, _ := newClientFixture(t)
		f.SetRenderer(limitedDriver{unsupported: "listener.http"})
		f.applyYAML(t, shop)
		f.checkFindings(t, "start", strings.Join([]string{
			"Warning NotSupportedByDriver VirtualNode a/back spec.listeners[0]: driver envoy does not support listener.http",
			"Warning NotSupportedByDriver VirtualService a/back: driver envoy does not support listener.http"}, "\n"))
		f.applyYAML(t, strings.Replace(shop, "protocol: http", "protocol: tcp", 1))
		f.checkFindings(t, "another protocol", "")
	})
	t.Run("workload deleted", func(t *testing.T) {
		f, _ := newClientFixture(t)
		f.SetRenderer(duplicateDriver{workload: "back_a"})
		f.applyYAML(t, shop)
		f.changed = 0
		f.publisher.takeCalls()
		f.applyYAML(t, strings.Split(shop, "\n---\n")[0])
		if got := f.Findings(); len(got) != 0 || f.changed == 0 {
			t.Errorf("got %d callbacks, findings\n%s", f.changed, texts(got))
		}
	})
}

// A view that cannot be rendered is a finding, also without clients. Its first client waits until it can be rendered.
func TestFailedRenderingWithoutClients(t *testing.T) {
	for name, c := range map[string]struct {
		driver sidecar.Renderer
		node   string
	}{
		"view":          {duplicateDriver{workload: "back_a"}, "back"},
		"outbound view": {faultyOutbound{faulty: "back_a_http_80", bindings: new([]string)}, "front"},
	} {
		t.Run(name, func(t *testing.T) {
			f, conn := newClientFixture(t)
			f.SetRenderer(c.driver)
			f.applyYAML(t, shop)
			workload := model.Key{Mesh: "m", Name: c.node + "_a"}
			want := "Error NotSupportedByDriver VirtualNode a/" + c.node + ": driver envoy cannot render workload " +
				workload.String() + ": two resources"
			if got := texts(f.Findings()); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") || f.changed != 1 {
				t.Errorf("got %d callbacks, findings\n%s\nwant\n%s", f.changed, got, want)
			}
			client := open(t, conn, workload, "p1", nil)
			eventually(t, "connected", func() bool { return f.publisher.HasClients(workload.String()) })
			f.applyYAML(t, shop)
			if calls := f.publisher.takeCalls(); len(calls) != 0 {
				t.Errorf("got calls %q", calls)
			}
			f.SetRenderer(envoy.Driver{})
			f.applyYAML(t, strings.Replace(shop, "port: 80", "port: 81", 1))
			client.next(t)
			if calls := f.publisher.takeCalls(); !slices.Equal(calls, []string{"publish " + workload.String()}) {
				t.Errorf("fixed: got calls %q", calls)
			}
			if got := f.Findings(); len(got) != 0 {
				t.Errorf("fixed: got findings\n%s", texts(got))
			}
		})
	}
}

// The first client of an outbound view finds errors that need the destinations.
func TestRenderingFailsForFirstClient(t *testing.T) {
	f, conn := newClientFixture(t)
	f.SetRenderer(sameNames{})
	f.applyYAML(t, shop)
	f.changed = 0
	open(t, conn, front, "p1", nil)
	eventually(t, "a finding", func() bool { return strings.Contains(texts(f.Findings()), "two resources") })
	if calls := f.publisher.takeCalls(); len(calls) != 0 {
		t.Errorf("got calls %q", calls)
	}
}

// sameNames renders a destination with the name of an outbound listener.
type sameNames struct{ envoy.Driver }

func (d sameNames) RenderDestination(r model.ResolvedDestination) []sidecar.Resource {
	return append(d.Driver.RenderDestination(r), sidecar.Resource{Type: listeners, Name: "lds_egress_0.0.0.0_15001"})
}
