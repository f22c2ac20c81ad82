package delivery_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// countingDriver counts its calls.
type countingDriver struct {
	limitedDriver
	views, destinations *int
}

func (c countingDriver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	*c.views++
	return c.limitedDriver.Render(v)
}

func (c countingDriver) RenderDestination(r model.ResolvedDestination) []sidecar.Resource {
	*c.destinations++
	return c.limitedDriver.RenderDestination(r)
}

// driverPair is a default driver and a second driver on one engine.
type driverPair struct {
	delivery.Drivers
	engine                *engine.Engine
	defaultDriver, second *recordingPublisher
	views, destinations   int // calls of the second driver
	changed               int
}

func newDriverPair(t *testing.T) *driverPair {
	t.Helper()
	p := &driverPair{}
	log := slog.New(slog.DiscardHandler)
	addDriver := func(class delivery.Class, r sidecar.Renderer) *recordingPublisher {
		d := delivery.New(log, class, func() { p.changed++ })
		out := &recordingPublisher{Server: xds.NewServer(byNode, xds.Options{Observer: d, Logger: log})}
		d.SetRenderer(r)
		p.Drivers = append(p.Drivers, d)
		return out
	}
	p.defaultDriver = addDriver(delivery.Class{Name: "default", Default: true},
		limitedDriver{unsupported: "egress.Deny"})
	p.second = addDriver(delivery.Class{Name: "second"},
		countingDriver{limitedDriver{unsupported: "egress.Deny"}, &p.views, &p.destinations})
	p.engine = engine.New(log, []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{}, p.Deliver)
	p.Drivers[0].Connect(p.engine, p.defaultDriver)
	p.Drivers[1].Connect(p.engine, p.second)
	return p
}

// set adds objects in one change; remove deletes them.
func (p *driverPair) set(t *testing.T, text string) {
	t.Helper()
	for _, o := range objects(t, text) {
		p.engine.Set(o)
	}
	p.engine.Sync()
}

func (p *driverPair) remove(t *testing.T, text string) {
	t.Helper()
	for _, o := range objects(t, text) {
		p.engine.Delete(o)
	}
	p.engine.Sync()
}

func podOf(app, uid, class string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: a, uid: %s, labels: {app: %s}, annotations: {%s: %q}}}",
		uid, uid, app, sidecar.ClassAnnotation, class)
}

func (p *driverPair) checkCalls(t *testing.T, when string, wantDefault, wantSecond []string) {
	t.Helper()
	if got := p.defaultDriver.takeCalls(); !slices.Equal(got, wantDefault) {
		t.Errorf("%s: default driver: got %q, want %q", when, got, wantDefault)
	}
	if got := p.second.takeCalls(); !slices.Equal(got, wantSecond) {
		t.Errorf("%s: second driver: got %q, want %q", when, got, wantSecond)
	}
}

// The default driver renders all workloads, a second driver those that have pods of it.
func TestDriverRendersWorkloadsOfItsPods(t *testing.T) {
	p := newDriverPair(t)
	p.set(t, shop)
	p.checkCalls(t, "start", []string{"publish m/back_a", "publish m/front_a"}, nil)
	if p.views+p.destinations != 0 {
		t.Errorf("no pods of the second driver: got %d views and %d destinations", p.views, p.destinations)
	}
	p.set(t, podOf("front", "f2", "second"))
	p.checkCalls(t, "first pod of the second driver", nil, []string{"publish m/front_a"})
	p.set(t, podOf("front", "f3", "second"))
	p.set(t, podOf("front", "f4", "default"))
	p.checkCalls(t, "more pods of both drivers", nil, nil)
	if p.views != 1 || p.destinations != 1 {
		t.Errorf("second driver: got %d views and %d destinations, want 1 and 1",
			p.views, p.destinations)
	}
	p.set(t, strings.Replace(shop, "back.example", "elsewhere.example", 1))
	update := []string{"update m/front_a +" + toBack}
	p.checkCalls(t, "changed destination", update, update)
	p.remove(t, podOf("front", "f3", "second"))
	p.checkCalls(t, "one of two pods deleted", nil, nil)
	p.remove(t, podOf("front", "f2", "second"))
	p.checkCalls(t, "last pod deleted", nil, []string{"remove m/front_a"})
	p.set(t, podOf("front", "f5", "unknown"))
	p.checkCalls(t, "pod of an unknown driver", nil, nil)
}

// Endpoints are sent to the sidecars of both drivers. Each driver that uses the destination renders it once.
func TestEndpointsReachBothDrivers(t *testing.T) {
	discovered := strings.Replace(shop, "serviceDiscovery: {dns: {hostname: back.example}}",
		"serviceDiscovery: {awsCloudMap: {namespaceName: x, serviceName: back}}", 1)
	ready := strings.TrimSuffix(podOf("back", "b1", "default"), "}") +
		", status: {podIP: 10.0.0.1, conditions: [{type: Ready, status: 'True'}]}}"
	p := newDriverPair(t)
	p.set(t, discovered+"\n---\n"+podOf("front", "f2", "second"))
	p.checkCalls(t, "start", []string{"publish m/back_a", "publish m/front_a"}, []string{"publish m/front_a"})
	p.set(t, ready)
	want := []string{"update m/front_a +back_a_http_80 +" + toBack}
	p.checkCalls(t, "endpoint added", want, want)
	if p.views != 1 || p.destinations != 2 {
		t.Errorf("second driver: got %d views and %d destinations, want 1 and 2", p.views, p.destinations)
	}
	p.remove(t, podOf("front", "f2", "second"))
	p.checkCalls(t, "last sidecar of the second driver deleted", nil, []string{"remove m/front_a"})
	p.remove(t, ready)
	p.checkCalls(t, "endpoint deleted", want, nil)
	if p.destinations != 2 {
		t.Error("the second driver rendered a destination without users")
	}
}

// Only the drivers of the pods of a workload cause findings about it, and each finding names its driver. Neither
// driver supports the egress rule of the Mesh.
func TestOnlyDriversInUseGiveFindings(t *testing.T) {
	finding := func(driver string) string {
		return "Warning NotSupportedByDriver Mesh m: driver " + driver + " does not support egress.Deny"
	}
	for name, c := range map[string]struct {
		pods []string
		want []string
	}{
		"no pods":                       {nil, []string{"default"}},
		"pod without a driver":          {[]string{podOf("front", "f2", "")}, []string{"default"}},
		"pods of the default driver":    {[]string{podOf("front", "f2", "default"), podOf("back", "b2", "default")}, []string{"default"}},
		"pods of the second driver":     {[]string{podOf("front", "f2", "second"), podOf("back", "b2", "second")}, []string{"second"}},
		"workload with both drivers":    {[]string{podOf("front", "f2", "second"), podOf("front", "f3", "default"), podOf("back", "b2", "second")}, []string{"default", "second"}},
		"another workload without pods": {[]string{podOf("front", "f2", "second")}, []string{"default", "second"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newDriverPair(t)
			documents := strings.Split(shop, "\n---\n")
			p.set(t, strings.Join(append(documents[:4], c.pods...), "\n---\n")) // without the pod in shop
			got := slices.Compact(strings.Split(texts(p.Findings()), "\n"))
			var want []string
			for _, driver := range c.want {
				want = append(want, finding(driver))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got findings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// Findings appear and disappear with the pods, and the callback is called.
func TestFindingsFollowPodDrivers(t *testing.T) {
	p := newDriverPair(t)
	p.set(t, shop)
	before := p.changed
	p.set(t, podOf("back", "b2", "second"))
	if got := texts(p.Findings()); !strings.Contains(got, "driver second") || p.changed == before {
		t.Errorf("pod of the second driver added: %d callbacks, findings\n%s", p.changed-before, got)
	}
	before = p.changed
	p.remove(t, podOf("back", "b2", "second"))
	if got := texts(p.Findings()); strings.Contains(got, "driver second") || p.changed == before {
		t.Errorf("pod of the second driver deleted: %d callbacks, findings\n%s", p.changed-before, got)
	}
}

// If the annotation of a running pod changes, its sidecar must use another xDS server.
func TestSidecarIsDisconnectedWhenDriverChanges(t *testing.T) {
	p := newDriverPair(t)
	p.set(t, shop+"\n---\n"+podOf("front", "f2", "second"))
	f := &fixture{publisher: p.second}
	stream := connect(t, f, front.String(), "f2")
	receive(t, stream)
	p.set(t, podOf("front", "f2", "default")+"\n---\n"+podOf("front", "f3", "second"))
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream is still open")
	}
}
