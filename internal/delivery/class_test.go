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

// counting counts what it renders.
type counting struct {
	modest
	views, destinations *int
}

func (c counting) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	*c.views++
	return c.modest.Render(v)
}

func (c counting) RenderDestination(r model.ResolvedDestination) []sidecar.Resource {
	*c.destinations++
	return c.modest.RenderDestination(r)
}

// pair is a default driver and a second one, side by side.
type pair struct {
	delivery.Drivers
	flow                *engine.Engine
	usual, second       *publisher
	views, destinations int // that the second one rendered
	changed             int
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{}
	quiet := slog.New(slog.DiscardHandler)
	newOne := func(class delivery.Class, r sidecar.Renderer) *publisher {
		d := delivery.New(quiet, class, func() { p.changed++ })
		out := &publisher{Server: xds.NewServer(byNode, xds.Options{Observer: d, Logger: quiet})}
		d.SetRenderer(r)
		p.Drivers = append(p.Drivers, d)
		return out
	}
	p.usual = newOne(delivery.Class{Name: "usual", Default: true}, modest{lacks: "egress.Deny"})
	p.second = newOne(delivery.Class{Name: "second"}, counting{modest{lacks: "egress.Deny"}, &p.views, &p.destinations})
	p.flow = engine.New(quiet, []dialect.Dialect{appmesh.Dialect{}}, p.Deliver)
	p.Drivers[0].Connect(p.flow, p.usual)
	p.Drivers[1].Connect(p.flow, p.second)
	return p
}

// set adds objects in one change; remove removes them.
func (p *pair) set(t *testing.T, text string) {
	t.Helper()
	for _, o := range objects(t, text) {
		p.flow.Set(o)
	}
	p.flow.Sync()
}

func (p *pair) remove(t *testing.T, text string) {
	t.Helper()
	for _, o := range objects(t, text) {
		p.flow.Delete(o)
	}
	p.flow.Sync()
}

func podOf(app, uid, class string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: a, uid: %s, labels: {app: %s}, annotations: {%s: %q}}}",
		uid, uid, app, sidecar.ClassAnnotation, class)
}

func (p *pair) says(t *testing.T, when string, usual, second []string) {
	t.Helper()
	if got := p.usual.said(); !slices.Equal(got, usual) {
		t.Errorf("%s: the default driver does %q, want %q", when, got, usual)
	}
	if got := p.second.said(); !slices.Equal(got, second) {
		t.Errorf("%s: the second driver does %q, want %q", when, got, second)
	}
}

// A second driver has the workloads that have pods of it, from the first of them to the last, and the default driver
// has all.
func TestDriverRendersWorkloadsOfItsPods(t *testing.T) {
	p := newPair(t)
	p.set(t, shop)
	p.says(t, "at first", []string{"publish m/back_a", "publish m/front_a"}, nil)
	if p.views+p.destinations != 0 {
		t.Errorf("nobody has the second driver, and it renders %d views and %d destinations", p.views, p.destinations)
	}
	p.set(t, podOf("front", "f2", "second"))
	p.says(t, "the first pod of the second driver", nil, []string{"publish m/front_a"})
	p.set(t, podOf("front", "f3", "second"))
	p.set(t, podOf("front", "f4", "usual"))
	p.says(t, "more pods of both", nil, nil)
	if p.views != 1 || p.destinations != 1 {
		t.Errorf("the second driver rendered %d views and %d destinations for one workload with one destination",
			p.views, p.destinations)
	}
	p.set(t, strings.Replace(shop, "back.example", "elsewhere.example", 1))
	p.says(t, "a change that concerns both", []string{"publish m/front_a"}, []string{"publish m/front_a"})
	p.remove(t, podOf("front", "f3", "second"))
	p.says(t, "one of its two pods goes", nil, nil)
	p.remove(t, podOf("front", "f2", "second"))
	p.says(t, "its last pod goes", nil, []string{"remove m/front_a"})
	p.set(t, podOf("front", "f5", "unknown"))
	p.says(t, "a pod of a driver that is not there", nil, nil)
}

// Endpoints go to both drivers' sidecars, rendered once for each driver that has users of the destination.
func TestEndpointsReachBothDrivers(t *testing.T) {
	discovered := strings.Replace(shop, "serviceDiscovery: {dns: {hostname: back.example}}",
		"serviceDiscovery: {awsCloudMap: {namespaceName: x, serviceName: back}}", 1)
	ready := strings.TrimSuffix(podOf("back", "b1", "usual"), "}") +
		", status: {podIP: 10.0.0.1, conditions: [{type: Ready, status: 'True'}]}}"
	p := newPair(t)
	p.set(t, discovered+"\n---\n"+podOf("front", "f2", "second"))
	p.says(t, "at first", []string{"publish m/back_a", "publish m/front_a"}, []string{"publish m/front_a"})
	p.set(t, ready)
	want := []string{"update m/front_a +" + toBack}
	p.says(t, "an endpoint comes", want, want)
	if p.views != 1 || p.destinations != 2 {
		t.Errorf("the second driver rendered %d views and %d destinations; want 1 and 2", p.views, p.destinations)
	}
	p.remove(t, podOf("front", "f2", "second"))
	p.says(t, "the last sidecar of the second driver goes", nil, []string{"remove m/front_a"})
	p.remove(t, ready)
	p.says(t, "the endpoint goes", want, nil)
	if p.destinations != 2 {
		t.Error("a destination is rendered that nobody has")
	}
}

// Only drivers that pods of a workload have give findings about it, and each finding names its driver.
// The Mesh denies what is not declared, which neither supports.
func TestOnlyDriversInUseGiveFindings(t *testing.T) {
	finding := func(driver string) string {
		return "Warning NotSupportedByDriver Mesh m: driver " + driver + " does not support egress.Deny"
	}
	for name, c := range map[string]struct {
		pods []string
		want []string
	}{
		"no pods":                        {nil, []string{"usual"}},
		"a pod that names none":          {[]string{podOf("front", "f2", "")}, []string{"usual"}},
		"pods of the default driver":     {[]string{podOf("front", "f2", "usual"), podOf("back", "b2", "usual")}, []string{"usual"}},
		"all pods of the second":         {[]string{podOf("front", "f2", "second"), podOf("back", "b2", "second")}, []string{"second"}},
		"a workload with pods of both":   {[]string{podOf("front", "f2", "second"), podOf("front", "f3", "usual"), podOf("back", "b2", "second")}, []string{"second", "usual"}},
		"another workload without a pod": {[]string{podOf("front", "f2", "second")}, []string{"second", "usual"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			documents := strings.Split(shop, "\n---\n")
			p.set(t, strings.Join(append(documents[:4], c.pods...), "\n---\n")) // without the pod of its own
			got := slices.Compact(strings.Split(texts(p.Findings()), "\n"))
			var want []string
			for _, driver := range c.want {
				want = append(want, finding(driver))
			}
			if !slices.Equal(got, want) {
				t.Errorf("findings:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// Findings appear and disappear with the pods, and the callback is called.
func TestFindingsFollowPodDrivers(t *testing.T) {
	p := newPair(t)
	p.set(t, shop)
	before := p.changed
	p.set(t, podOf("back", "b2", "second"))
	if got := texts(p.Findings()); !strings.Contains(got, "driver second") || p.changed == before {
		t.Errorf("the second driver has a pod; told %d times:\n%s", p.changed-before, got)
	}
	before = p.changed
	p.remove(t, podOf("back", "b2", "second"))
	if got := texts(p.Findings()); strings.Contains(got, "driver second") || p.changed == before {
		t.Errorf("the second driver has no pod; told %d times:\n%s", p.changed-before, got)
	}
}

// The annotation of a running pod may be edited: its sidecar belongs to another server then.
func TestSidecarIsDisconnectedWhenDriverChanges(t *testing.T) {
	p := newPair(t)
	p.set(t, shop+"\n---\n"+podOf("front", "f2", "second"))
	f := &fixture{publisher: p.second}
	stream := connect(t, f, front.String(), "f2")
	receive(t, stream)
	p.set(t, podOf("front", "f2", "usual")+"\n---\n"+podOf("front", "f3", "second"))
	if _, err := stream.Recv(); err == nil {
		t.Error("the stream goes on")
	}
}
