package sidecar

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// probe is a driver that records its input.
type probe struct {
	pod      *corev1.Pod
	handlers int
	started  bool
}

func (p *probe) Patch(ctx context.Context) error {
	c := ctx.Value(&InjectorCtxKey).(*InjectorContext)
	p.pod = c.Pod
	c.Sidecar = &Spec{Command: []string{"proxy"}}
	return nil
}

func (p *probe) Start(ctx context.Context) (Probes, error) {
	c := ctx.Value(&ControllerCtxKey).(*ControllerContext)
	p.handlers, p.started = len(c.DebugHandlers), true
	return HealthProbes{Liveness: &HealthProbe{Path: "/live", Port: 1, HTTP: true}}, nil
}

// reset replaces the registry during a test.
func reset(t *testing.T) {
	driversMutex.Lock()
	defer driversMutex.Unlock()
	saved, class := drivers, defaultClass
	drivers, defaultClass = map[string]Driver{}, ""
	t.Cleanup(func() { drivers, defaultClass = saved, class })
}

func panics(f func()) (message any) {
	defer func() { message = recover() }()
	f()
	return nil
}

func TestRegisterPanicsOnNilAndTwice(t *testing.T) {
	reset(t)
	if got := panics(func() { Register("a", nil) }); got != "sidecar: Register driver is nil" {
		t.Errorf("nil driver: got panic %v", got)
	}
	Register("a", &probe{})
	if got := panics(func() { Register("a", &probe{}) }); got != "sidecar: Register called twice for driver a" {
		t.Errorf("duplicate driver: got panic %v", got)
	}
}

func TestInstallDriverListsKnownDrivers(t *testing.T) {
	reset(t)
	Register("envoy", &probe{})
	Register("pipy", &probe{})
	for _, install := range []func(string) error{InstallDriver, InitDriver} {
		err := install("envoi")
		if err == nil || !strings.Contains(err.Error(), `"envoi"`) || !strings.Contains(err.Error(), "envoy, pipy") {
			t.Errorf("unknown driver: got error %v", err)
		}
		if err := install("envoy"); err != nil {
			t.Errorf("known driver: got error %v", err)
		}
	}
}

func TestPatchAndStartRequireInstalledDriver(t *testing.T) {
	reset(t)
	if err := Patch(t.Context()); err == nil {
		t.Error("Patch without a driver: got no error")
	}
	if _, err := Start(t.Context()); err == nil {
		t.Error("Start without a driver: got no error")
	}
}

// The contexts have no parent, as in the examples of the contract.
func TestContextsArePassedToDriver(t *testing.T) {
	reset(t)
	p := &probe{}
	Register("probe", p)
	if err := InstallDriver("probe"); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	injector := InjectorContext{Pod: pod}
	ctx, cancel := context.WithCancel(&injector)
	defer cancel()
	if err := Patch(ctx); err != nil || p.pod != pod || injector.Sidecar.Command[0] != "proxy" {
		t.Errorf("Patch: %v, pod %p, sidecar %v", err, p.pod, injector.Sidecar)
	}
	controller := ControllerContext{DebugHandlers: nil}
	ctx, cancel = context.WithCancel(&controller)
	controller.CancelFunc = cancel
	defer cancel()
	probes, err := Start(ctx)
	if err != nil || probes.GetHealthProbes().Liveness.Path != "/live" {
		t.Errorf("Start: %v, %v", probes, err)
	}
	if ctx.Value(&InjectorCtxKey) != nil {
		t.Error("a ControllerContext has a value for InjectorCtxKey")
	}
}

// A context without a class selects the default driver.
func TestContextSelectsDriver(t *testing.T) {
	reset(t)
	first, second := &probe{}, &probe{}
	Register("first", first)
	Register("second", second)
	if err := InstallDriver("first"); err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]*probe{"": first, "first": first, "second": second} {
		t.Run("class "+class, func(t *testing.T) {
			pod := &corev1.Pod{}
			if err := Patch(&InjectorContext{Pod: pod, SidecarClass: class}); err != nil || want.pod != pod {
				t.Errorf("Patch: got error %v, pod %p, want pod %p", err, want.pod, pod)
			}
			want.started = false
			if _, err := Start(&ControllerContext{SidecarClass: class}); err != nil || !want.started {
				t.Errorf("Start: got error %v, started %v", err, want.started)
			}
		})
	}
	if err := Patch(&InjectorContext{SidecarClass: "third"}); err == nil ||
		!strings.Contains(err.Error(), "known drivers: first, second") {
		t.Errorf("Patch with an unknown class: got error %v", err)
	}
	if _, err := Start(&ControllerContext{SidecarClass: "third"}); err == nil ||
		!strings.Contains(err.Error(), `"third"`) {
		t.Errorf("Start with an unknown class: got error %v", err)
	}
}
