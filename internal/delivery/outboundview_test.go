package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// rendered returns the number of renderings by kind.
func (f *fixture) rendered(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	f.Register(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "anymesh_delivery_rendered_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			out[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	return out
}

func newShiftFixture(t *testing.T, services, clients int) *fixture {
	t.Helper()
	f := newFixture(t)
	for _, o := range shiftObjects(t, services, clients) {
		f.engine.Set(o)
	}
	f.engine.Sync()
	f.publisher.takeCalls()
	return f
}

// A shift renders one outbound view, and is published to each workload that has it.
func TestShiftRendersOutboundViewOnce(t *testing.T) {
	f := newShiftFixture(t, 3, 30)
	before := f.rendered(t)
	f.engine.Set(shiftedTo(t, 1, 7))
	f.engine.Sync()
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprintf("update m/c%04d_a +rds_egress_http_80/s0001.a", i))
	}
	if got := f.publisher.takeCalls(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	after := f.rendered(t)
	for what, n := range map[string]float64{"outbound": 1, "view": 0, "destination": 0} {
		if got := after[what] - before[what]; got != n {
			t.Errorf("got %v renderings of a %s, want %v", got, what, n)
		}
	}
}

// A workload that changes its backends gets a snapshot. The others keep theirs.
func TestChangedBackends(t *testing.T) {
	f := newShiftFixture(t, 2, 3)
	change := func(backends string) []string {
		text := "{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: c0001, namespace: a}, " +
			"spec: {podSelector: {matchLabels: {app: c0001}}, backends: [" + backends + "]}}"
		f.engine.Set(objects(t, text)[0])
		f.engine.Sync()
		return f.publisher.takeCalls()
	}
	const first = "{virtualService: {virtualServiceRef: {name: s0000}}}"
	const second = "{virtualService: {virtualServiceRef: {name: s0001}}}"
	moved := model.Key{Mesh: "m", Name: "c0001_a"}
	for _, c := range []struct {
		backends string
		cluster  bool // of the second service
	}{{first, false}, {first + ", " + second, true}, {"", false}, {second, true}} {
		if got := change(c.backends); !slices.Equal(got, []string{"publish m/c0001_a"}) {
			t.Errorf("backends %q: got %q", c.backends, got)
		}
		ref := xds.Ref{TypeURL: clusters, Name: "cds_egress_m_s0001-a_a_http_80"}
		if got := f.VersionOf(moved, ref) != ""; got != c.cluster {
			t.Errorf("backends %q: got cluster of the second service %v, want %v", c.backends, got, c.cluster)
		}
	}
	f.engine.Set(shiftedTo(t, 0, 9))
	f.engine.Sync()
	want := []string{"update m/c0000_a +rds_egress_http_80/s0000.a", "update m/c0002_a +rds_egress_http_80/s0000.a"}
	if got := f.publisher.takeCalls(); !slices.Equal(got, want) {
		t.Errorf("a shift of a service that is no longer a backend: got %q, want %q", got, want)
	}
}

// faultyOutbound renders a duplicate resource for an outbound view with a destination, and a resource for each service.
type faultyOutbound struct {
	envoy.Driver
	faulty   string
	bindings *[]string
	finding  model.Finding
}

func (d faultyOutbound) RenderOutbound(mesh model.Mesh, r *model.OutboundView) ([]sidecar.Resource, []model.Finding) {
	resources, _ := d.Driver.RenderOutbound(mesh, r)
	if _, ok := r.Destination(d.faulty); ok {
		resources = append(resources, resources[0])
	}
	return resources, nil
}

func (d faultyOutbound) RenderBinding(_ model.Mesh, port uint16, b model.Binding,
	find func(string) (model.Destination, bool)) ([]sidecar.Resource, []model.Finding) {
	*d.bindings = append(*d.bindings, b.Service)
	body := fmt.Sprint(b.Routes)
	for _, to := range b.Routes[0].Action.Destinations {
		found, _ := find(to.Destination)
		body += fmt.Sprint(found.Port)
	}
	name := fmt.Sprintf("%s:%d", b.Service, port)
	return []sidecar.Resource{{Type: "test/binding", Name: name, Body: []byte(body)}}, []model.Finding{d.finding}
}

func newFaultyFixture(t *testing.T, d faultyOutbound) (*fixture, *[]string) {
	t.Helper()
	f := newFixture(t)
	d.bindings = new([]string)
	f.SetRenderer(d)
	for _, o := range shiftObjects(t, 3, 2) {
		f.engine.Set(o)
	}
	f.engine.Sync()
	return f, d.bindings
}

// A shift renders the binding of its service only. A NACK of its resource is reported at the workload.
func TestShiftRendersOneBinding(t *testing.T) {
	mesh := model.NewOrigin(model.ObjectRef{Kind: "Mesh", Name: "m"})
	finding := model.NewFinding(mesh, model.CodeInvalidField, "x")
	f, bindings := newFaultyFixture(t, faultyOutbound{finding: finding})
	if len(*bindings) != 3 {
		t.Errorf("start: rendered %q", *bindings)
	}
	if got := texts(f.Findings()); got != finding.String() {
		t.Errorf("got findings\n%s", got)
	}
	*bindings = nil
	f.publisher.takeCalls()
	f.engine.Set(shiftedTo(t, 1, 7))
	f.engine.Sync()
	want := []string{"update m/c0000_a +s0001.a:80", "update m/c0001_a +s0001.a:80"}
	if got := f.publisher.takeCalls(); !slices.Equal(got, want) || len(*bindings) != 1 {
		t.Errorf("got %q, rendered %q, want %q", got, *bindings, want)
	}
	*bindings = nil
	port := strings.ReplaceAll(strings.ReplaceAll(shiftTexts, "NAME", "s0002"), "port: 80", "port: 81")
	for _, o := range objects(t, port) {
		f.engine.Set(o)
	}
	f.engine.Sync()
	if !slices.Equal(*bindings, []string{"s0002.a"}) {
		t.Errorf("destinations changed: rendered %q", *bindings)
	}
	client := model.Key{Mesh: "m", Name: "c0000_a"}
	version := f.VersionOf(client, xds.Ref{TypeURL: "test/binding", Name: "s0001.a:80"})
	f.Nacked(client.String(), "p", "test/binding", map[string]string{"s0001.a:80": version}, "no")
	rejected := "VirtualNode a/c0000: the envoy sidecars of workload m/c0000_a reject"
	if got := texts(f.Findings()); !strings.Contains(got, rejected) {
		t.Errorf("got findings\n%s", got)
	}
}

// If rendering fails for an outbound view, its workloads keep their last configuration and get a finding, also those
// that change to it. They get the current configuration when rendering succeeds.
func TestFailedOutboundViewKeepsLastConfiguration(t *testing.T) {
	f, _ := newFaultyFixture(t, faultyOutbound{})
	f.publisher.takeCalls()
	f.SetRenderer(faultyOutbound{faulty: "s0001-a_a_http_81", bindings: new([]string)})
	move := func(port string) []string {
		text := strings.ReplaceAll(strings.ReplaceAll(shiftTexts, "NAME", "s0001"), "port: 80", "port: "+port)
		for _, o := range objects(t, text) {
			f.engine.Set(o)
		}
		f.engine.Sync()
		return f.publisher.takeCalls()
	}
	if got := move("81"); !slices.Equal(got, []string{"publish m/s0001-a_a", "publish m/s0001-b_a"}) {
		t.Errorf("failed rendering: got %q", got)
	}
	failed := func(name string) string {
		return "Error NotSupportedByDriver VirtualNode a/" + name + ": driver envoy cannot render workload m/" + name +
			"_a: two resources"
	}
	got := texts(f.Findings())
	if !strings.Contains(got, failed("c0000")) || !strings.Contains(got, failed("c0001")) {
		t.Errorf("failed rendering: got findings\n%s", got)
	}
	f.engine.Set(objects(t, `{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: c0000, namespace: a},
  spec: {podSelector: {matchLabels: {app: c0000}}, backends: [{virtualService: {virtualServiceRef: {name: s0001}}}]}}`)[0])
	f.engine.Sync()
	if got := f.publisher.takeCalls(); len(got) != 0 || !strings.Contains(texts(f.Findings()), failed("c0000")) {
		t.Errorf("change to an outbound view that fails: got %q, findings\n%s", got, texts(f.Findings()))
	}
	calls := move("82")
	update := "update m/c0001_a "
	i := slices.IndexFunc(calls, func(call string) bool { return strings.HasPrefix(call, update) })
	if i < 0 || !strings.Contains(calls[i], " +s0001-a_a_http_82 ") || !strings.Contains(calls[i], " -s0001-a_a_http_80 ") ||
		strings.Contains(calls[i], "81") || !slices.Contains(calls, "publish m/c0000_a") {
		t.Errorf("fixed rendering: got %q", calls)
	}
	if got := texts(f.Findings()); strings.Contains(got, "cannot render") {
		t.Errorf("fixed rendering: got findings\n%s", got)
	}
}

// simpleDriver has no methods besides those of a Renderer.
type simpleDriver struct {
	sidecar.Renderer
	views *int
}

func (d simpleDriver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	*d.views++
	var out []sidecar.Resource
	for _, o := range v.Outbound {
		for _, b := range o.Bindings {
			out = append(out, sidecar.Resource{Type: "test/binding", Name: b.Service, Body: []byte(fmt.Sprint(b.Routes))})
		}
	}
	return out, nil
}

// A driver without RenderOutbound renders the view of each workload whose outbound view changed.
func TestDriverWithoutOutboundViews(t *testing.T) {
	f, views := newFixture(t), 0
	f.SetRenderer(simpleDriver{envoy.Driver{}, &views})
	for _, o := range shiftObjects(t, 2, 2) {
		f.engine.Set(o)
	}
	f.engine.Sync()
	f.publisher.takeCalls()
	client := model.Key{Mesh: "m", Name: "c0000_a"}
	ref := xds.Ref{TypeURL: "test/binding", Name: "s0001.a"}
	before, rendered := f.VersionOf(client, ref), views
	f.engine.Set(shiftedTo(t, 1, 7))
	f.engine.Sync()
	want := []string{"publish m/c0000_a", "publish m/c0001_a"}
	if got := f.publisher.takeCalls(); !slices.Equal(got, want) || views-rendered != 2 {
		t.Errorf("got %q and %d views, want %q and 2", got, views-rendered, want)
	}
	if now := f.VersionOf(client, ref); now == "" || now == before {
		t.Errorf("got version %q, before %q", now, before)
	}
}
