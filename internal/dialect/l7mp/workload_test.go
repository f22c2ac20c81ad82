package l7mp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/l7mp"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// listening is a VirtualService with a listener, and its creation time.
const listening = `{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: %s, namespace: web, creationTimestamp: "2024-01-0%dT00:00:00Z"}, spec: {selector: {matchLabels: {app: gateway}}, listener: {spec: {%s: {port: 7000}}, rules: [{action: {route: {destination: users}}}]}}}
`

// Of two VirtualServices with a port, the older is served, in every order of events; without it, the younger is.
func TestOlderKeepsPort(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		m, objects := newMesh()
		for _, o := range decode(t, meanings+"---\n"+strings.Join(strings.Split(fmt.Sprintf(caller, "users"), "---\n")[:2], "---\n")) {
			objects.Set(cached(t, o))
		}
		all := []client.Object{}
		for i, protocol := range []string{"HTTP", "TCP", "UDP"} {
			all = append(all, decode(t, fmt.Sprintf(listening, strings.ToLower(protocol), i+1, protocol))...)
		}
		for _, i := range order {
			objects.Set(cached(t, all[i]))
			m.run()
		}
		if got := m.listeners(); !slices.Equal(got, []string{"http 7000", "udp 7000"}) {
			t.Errorf("order %v: got listeners %v", order, got)
		}
		conflicts := m.findings(model.CodePortConflict)
		if len(conflicts) != 1 || conflicts[0].Object.Name != "tcp" || !strings.Contains(conflicts[0].Text, "web/http") ||
			conflicts[0].Severity != model.Warning {
			t.Errorf("order %v: got conflicts %v", order, conflicts)
		}
		objects.Delete(cached(t, all[0]))
		m.run()
		if got := m.listeners(); !slices.Equal(got, []string{"tcp 7000", "udp 7000"}) || len(m.findings(model.CodePortConflict)) > 0 {
			t.Errorf("order %v: got listeners %v without the older", order, got)
		}
	}
}

// Rules for pods without a proxy are an error.
func TestRulesNeedProxy(t *testing.T) {
	m, objects := newMesh()
	for _, o := range decode(t, fmt.Sprintf(listening, "in", 1, "TCP")+`---
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: web, uid: g, labels: {app: gateway}}, spec: {containers: [{name: l7mp}]}}
`) {
		objects.Set(cached(t, o))
	}
	m.run()
	found := m.findings(model.CodeNoProxy)
	if len(found) != 1 || found[0].Severity != model.Error || found[0].Path != "spec.selector" {
		t.Errorf("got %v", found)
	}
	if s := m.mesh.Snapshot(); len(s.Workloads) > 0 {
		t.Errorf("got workloads %v", s.Workloads)
	}
}

// A proxy that was not injected gets configuration if a driver connects to it, and no driver of its own otherwise.
func TestProxyWithoutAgent(t *testing.T) {
	for _, driver := range []string{"", "some"} {
		g := incremental.New()
		objects, out := store.NewObjects(g), store.NewModel(g)
		l7mp.Dialect{WithoutAgent: driver}.Rules(g, objects, out)
		m := mesh{g, store.NewMesh(g, objects, out, store.Settings{})}
		for _, o := range decode(t, fmt.Sprintf(listening, "in", 1, "TCP")+`---
{apiVersion: v1, kind: Pod, metadata: {name: old, namespace: web, uid: o, labels: {app: gateway}}, spec: {containers: [{name: l7mp}]}, status: {podIP: 10.0.0.1}}
---
{apiVersion: v1, kind: Pod, metadata: {name: new, namespace: web, uid: i, labels: {app: gateway, anymesh.dev/proxy-uuid: i}}, spec: {containers: [{name: l7mp}]}, status: {podIP: 10.0.0.2}}
`) {
			objects.Set(cached(t, o))
		}
		m.run()
		workload := model.Key{Mesh: "l7mp", Name: "web/gateway"}
		var pods []string
		for _, e := range m.mesh.WithoutAgent(workload) {
			pods = append(pods, e.Instance.Name)
		}
		want, classes := []string{"old"}, []string{"", driver}
		if driver == "" {
			want, classes = nil, []string{""}
		}
		if got := m.mesh.ClassesOf(workload); !slices.Equal(pods, want) || !slices.Equal(got, classes) {
			t.Errorf("driver %q: got pods %v and classes %v, want %v and %v", driver, pods, got, want, classes)
		}
	}
}

// Without its last VirtualService, a proxy has no listeners, and gets this configuration.
func TestProxyWithoutListeners(t *testing.T) {
	m, objects := newMesh()
	all := decode(t, fmt.Sprintf(listening, "in", 1, "TCP")+`---
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: web, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other, namespace: web, uid: o, labels: {app: other, anymesh.dev/proxy-uuid: o}}, spec: {containers: [{name: app}]}}
`)
	for _, o := range all {
		objects.Set(cached(t, o))
	}
	for _, listeners := range []int{1, 0} {
		m.run()
		s := m.mesh.Snapshot()
		if len(s.Meshes) != 1 || len(s.Workloads) != 1 || len(s.Workloads[0].Listeners) != listeners ||
			len(s.Endpoints) != 1 {
			t.Errorf("want a workload with %d listeners, got %v with endpoints %v", listeners, s.Workloads, s.Endpoints)
		}
		objects.Delete(cached(t, all[0]))
	}
}

// Options of a listener take effect below the listener and beside it. A protocol of clusters is none of listeners.
func TestListeners(t *testing.T) {
	for spec, want := range map[string]struct {
		model.Listener
		finding string
	}{
		`{spec: {UDP: {port: 7000}}, options: {track: 600, removeOrphanSessions: true}}`: {
			Listener: model.Listener{Port: 7000, Protocol: model.UDP, TrackSessions: model.Duration(10 * time.Minute), EndSessions: true},
		},
		`{spec: {UDP: {port: 7000}}}, options: {track: 1}`: {
			Listener: model.Listener{Port: 7000, Protocol: model.UDP, TrackSessions: model.Duration(time.Second)},
		},
		`{spec: {JSONSocket: {transport: {UDP: {port: 7000}}}}}`: {
			Listener: model.Listener{Port: 7000, Protocol: model.JSONSocket, Transport: model.UDP},
		},
		`{spec: {JSONSocket: {transport_spec: {UnixDomainSocket: {filename: /run/a}}}}}`: {
			Listener: model.Listener{Socket: "/run/a", Protocol: model.JSONSocket, Transport: model.Unix},
		},
		`{spec: {UDP: {port: 7000}}, options: {track: -1}}`: {
			Listener: model.Listener{Port: 7000, Protocol: model.UDP}, finding: "spec.listener.options.track",
		},
		`{spec: {Echo: {}}}`: {finding: "spec.listener.spec"},
		`{spec: {JSONSocket: {transport: {UDP: {port: 7000}}, header: [{path: {from: /a}}]}}}`: {finding: "spec.listener.spec"},
	} {
		m, objects := newMesh()
		text := `{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: in, namespace: web}, spec: {selector: {matchLabels: {app: gateway}}, rules: [{action: {route: {destination: {spec: {Discard: {}}}}}}], listener: ` + spec + `}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: web, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}}
`
		for _, o := range decode(t, text) {
			objects.Set(cached(t, o))
		}
		m.run()
		s := m.mesh.Snapshot()
		var got model.Listener
		if len(s.Workloads) == 1 && len(s.Workloads[0].Listeners) == 1 {
			got = s.Workloads[0].Listeners[0]
			got.Origin, got.Router = model.Origin{}, ""
		}
		if model.Hash(&got) != model.Hash(&want.Listener) {
			t.Errorf("%s: got %+v", spec, got)
		}
		var paths []string
		for _, f := range m.mesh.AllFindings() {
			paths = append(paths, f.Path)
		}
		if strings.Join(paths, " ") != want.finding {
			t.Errorf("%s: got findings at %v", spec, paths)
		}
	}
}

// Pods of one template are one workload, whatever its revision is; other labels make another one.
func TestWorkloadsAreLabels(t *testing.T) {
	m, objects := newMesh()
	for i, labels := range []string{
		"app: gateway, pod-template-hash: a", "app: gateway, pod-template-hash: b", "app: gateway, zone: x", "zone: x",
	} {
		for _, o := range decode(t, fmt.Sprintf(
			`{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: web, uid: u%d, labels: {%s, anymesh.dev/proxy-uuid: u}}, spec: {containers: [{name: l7mp}]}}`,
			i, i, labels)) {
			objects.Set(cached(t, o))
		}
	}
	for _, o := range decode(t, strings.Replace(fmt.Sprintf(listening, "in", 1, "TCP"), "{matchLabels: {app: gateway}}", "{}", 1)) {
		objects.Set(cached(t, o))
	}
	m.run()
	var names []string
	for _, e := range m.mesh.Snapshot().Endpoints {
		names = append(names, e.Workload.Name)
	}
	slices.Sort(names)
	if len(names) != 4 || names[0] != "web/gateway" || names[1] != "web/gateway" ||
		!strings.HasPrefix(names[2], "web/gateway-") || !strings.HasPrefix(names[3], "web/pods-") {
		t.Errorf("got workloads %v", names)
	}
}

// listeners lists the protocols and ports of the listeners of all workloads.
func (m mesh) listeners() []string {
	var out []string
	for _, w := range m.mesh.Snapshot().Workloads {
		for _, l := range w.Listeners {
			out = append(out, fmt.Sprint(l.Protocol, " ", l.Port))
		}
	}
	slices.Sort(out)
	return out
}

// findings returns the findings with a code.
func (m mesh) findings(code model.Code) []model.Finding {
	return slices.DeleteFunc(m.mesh.AllFindings(), func(f model.Finding) bool { return f.Code != code })
}
