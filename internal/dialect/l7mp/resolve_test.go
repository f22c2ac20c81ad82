package l7mp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/test/cases"
)

// meanings are the objects that the name users can mean, in the order of the steps, with the ports that they lead to.
const meanings = `{apiVersion: l7mp.io/v1, kind: Target, metadata: {name: users, namespace: web}, spec: {cluster: {spec: {TCP: {port: 1}}, endpoints: [{spec: {address: 192.0.2.1}}]}}}
---
{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: users, namespace: web}, spec: {selector: {matchLabels: {app: users}}, listener: {spec: {TCP: {port: 2}}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: users, namespace: web}, spec: {selector: {app: users}, ports: [{port: 30, targetPort: 3}]}}
`

// caller is a gateway with a route to users.
const caller = `{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: web, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: users, namespace: web, uid: u, labels: {app: users}}, spec: {containers: [{name: app}]}}
---
{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: in, namespace: web}, spec: {selector: {matchLabels: {app: gateway}}, listener: {spec: {TCP: {port: 8000}}, rules: [{action: {route: {destination: %s}}}]}}}
`

// A name is that of a Target, else of a VirtualService, else of a Service, in every order in which they are created
// and deleted. The listener and the name of the destination stay.
func TestFourSteps(t *testing.T) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, created := range orders {
		for _, deleted := range orders {
			t.Run(fmt.Sprint(created, deleted), func(t *testing.T) {
				m, objects := newMesh()
				for _, o := range decode(t, fmt.Sprintf(caller, "users")) {
					objects.Set(cached(t, o))
				}
				steps := decode(t, meanings)
				present := [3]bool{}
				m.run()
				workloads := model.Hash(&m.mesh.Snapshot().Workloads)
				check := func() {
					t.Helper()
					m.run()
					checkMeaning(t, m, 1+slices.Index(present[:], true))
					if now := model.Hash(&m.mesh.Snapshot().Workloads); now != workloads {
						t.Errorf("with %v: workloads changed", present)
					}
				}
				check()
				for _, i := range created {
					present[i] = true
					objects.Set(cached(t, steps[i]))
					check()
				}
				for _, i := range deleted {
					present[i] = false
					objects.Delete(cached(t, steps[i]))
					check()
				}
			})
		}
	}
}

// checkMeaning checks that the destination has the port; 0 means that there is none, and that this is an error.
func checkMeaning(t *testing.T, m mesh, port int) {
	t.Helper()
	s := m.mesh.Snapshot()
	var got []uint16
	for _, d := range s.Destinations {
		got = append(got, d.Port)
		if d.Name != "web/users" {
			t.Errorf("the destination is called %s", d.Name)
		}
	}
	targets := s.Routers[0].Routes[0].Action.Destinations
	missing := slices.ContainsFunc(m.mesh.AllFindings(), func(f model.Finding) bool {
		return f.Code == model.CodeReferenceNotFound && strings.Contains(f.Text, "web/users")
	})
	if port == 0 {
		if len(got) > 0 || len(targets) > 0 || !missing {
			t.Errorf("got destinations %v, targets %v, an error: %v; want none, none and an error", got, targets, missing)
		}
		return
	}
	if len(got) != 1 || int(got[0]) != port || len(targets) != 1 || targets[0].Destination != "web/users" || missing {
		t.Errorf("got ports %v, targets %v, an error: %v; want port %d", got, targets, missing, port)
	}
}

// The full name of a Target never means a VirtualService or a Service.
func TestFullNamesMeanTargetsOnly(t *testing.T) {
	for _, c := range []struct {
		name  string
		valid bool
	}{
		{"/l7mp.io/v1/Target/web/users", true},
		{"/apis/l7mp.io/v1/namespaces/web/targets/users", true},
		{"users.web.target.cluster.local", true},
		{"users", true},
		{"/l7mp.io/v1/VirtualService/web/users", false},
		{"/apis/l7mp.io/v1/namespaces/web/virtualservices/users", false},
		{"/l7mp.io/v1/Target/other/users", false},
		{"web/users", false},
	} {
		m, objects := newMesh()
		all := decode(t, meanings+"---\n"+fmt.Sprintf(caller, `"`+c.name+`"`))
		for _, o := range all {
			objects.Set(cached(t, o))
		}
		m.run()
		if got := m.ports(); c.valid && !slices.Equal(got, []uint16{1}) || !c.valid && len(got) > 0 {
			t.Errorf("%s leads to ports %v", c.name, got)
		}
		objects.Delete(cached(t, all[0]))
		m.run()
		if got := m.ports(); strings.Contains(c.name, ".") && len(got) > 0 {
			t.Errorf("%s leads to ports %v without the Target", c.name, got)
		}
	}
}

// A Target that links a VirtualService has its protocol, its port and its pods; without one, those of the Service.
func TestLinkedVirtualService(t *testing.T) {
	m, objects := newMesh()
	all := decode(t, meanings+"---\n"+fmt.Sprintf(caller, "users")+`---
{apiVersion: l7mp.io/v1, kind: Target, metadata: {name: users, namespace: web}, spec: {linkedVirtualService: users, cluster: {loadbalancer: {policy: ConsistentHash, key: /IP/src_addr}}}}
`)
	for _, o := range all {
		objects.Set(cached(t, o)) // the last Target replaces the first
	}
	m.run()
	d := m.mesh.Snapshot().Destinations
	if len(d) != 1 || d[0].Port != 2 || d[0].Discovery.Group != "virtualservice/web/users" ||
		d[0].Balance.HashKey != "/IP/src_addr" {
		t.Errorf("got %+v", d)
	}
	objects.Delete(cached(t, all[1]))
	m.run()
	if got := m.ports(); !slices.Equal(got, []uint16{3}) {
		t.Errorf("got ports %v without the VirtualService, want that of the Service", got)
	}
	if endpoints := m.mesh.Snapshot().Endpoints; !slices.ContainsFunc(endpoints, func(e model.Endpoint) bool {
		return e.Instance.Name == "users" && slices.Contains(e.Groups, "service/web/users")
	}) {
		t.Errorf("the pods of the Service are no endpoints: %+v", endpoints)
	}
}

// A Service with several ports is not one port.
func TestServiceWithSeveralPorts(t *testing.T) {
	m, objects := newMesh()
	for _, o := range decode(t, meanings+"---\n"+fmt.Sprintf(caller, "users")) {
		if s, is := o.(*corev1.Service); is {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: 31, Name: "more"})
			objects.Set(cached(t, o))
		} else if o.GetName() != "users" || o.GetObjectKind().GroupVersionKind().Kind == "Pod" {
			objects.Set(cached(t, o))
		}
	}
	m.run()
	if got := m.ports(); len(got) > 0 {
		t.Errorf("got ports %v", got)
	}
	if all := m.mesh.AllFindings(); len(all) != 1 || !strings.Contains(all[0].Text, "has not one port") {
		t.Errorf("got findings %v", all)
	}
}

func decode(t *testing.T, text string) []client.Object {
	t.Helper()
	all, err := cases.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ports lists the ports that routes lead to.
func (m mesh) ports() []uint16 {
	s := m.mesh.Snapshot()
	var out []uint16
	for _, r := range s.Routers {
		for _, route := range r.Routes {
			for _, to := range route.Action.Destinations {
				for _, d := range s.Destinations {
					if d.Name == to.Destination {
						out = append(out, d.Port)
					}
				}
			}
		}
	}
	return out
}
