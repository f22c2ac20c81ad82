package l7mp_test

import (
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
)

// A Target has pods and addresses, each with its weight. A pod of several entries has the first weight.
func TestWeightsOfEndpoints(t *testing.T) {
	m, objects := newMesh()
	for _, o := range decode(t, `
apiVersion: l7mp.io/v1
kind: VirtualService
metadata: {name: in, namespace: web}
spec:
  selector: {matchLabels: {app: gateway}}
  listener: {spec: {TCP: {port: 7000}}, rules: [{action: {route: {destination: users}}}]}
---
{apiVersion: v1, kind: Pod, metadata: {name: gateway, namespace: web, uid: g, labels: {app: gateway, anymesh.dev/proxy-uuid: g}}, spec: {containers: [{name: l7mp}]}}
---
apiVersion: l7mp.io/v1
kind: Target
metadata: {name: users, namespace: web}
spec:
  cluster:
    spec: {TCP: {port: 1}}
    endpoints:
      - {selector: {matchLabels: {app: big}}, weight: 9}
      - {selector: {matchLabels: {tier: all}}, spec: {weight: 2}}
      - {selector: {matchLabels: {app: plain}}}
      - {spec: {address: 192.0.2.1}, weight: 4}
---
{apiVersion: v1, kind: Pod, metadata: {name: big, namespace: web, uid: b, labels: {app: big, tier: all}}, status: {podIP: 10.0.0.1, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: small, namespace: web, uid: s, labels: {app: small, tier: all}}, status: {podIP: 10.0.0.2, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: plain, namespace: web, uid: p, labels: {app: plain}}, status: {podIP: 10.0.0.3, conditions: [{type: Ready, status: "True"}]}}
`) {
		objects.Set(cached(t, o))
	}
	m.run()
	if found := m.mesh.AllFindings(); len(found) > 0 {
		t.Errorf("got findings %v", found)
	}
	d, ok := m.mesh.ResolvedDestination(model.Key{Mesh: "l7mp", Name: "web/users"})
	if !ok {
		t.Fatal("there is no destination web/users")
	}
	got := map[string]uint32{}
	for _, e := range d.Endpoints {
		got[e.Instance.Name] = d.Destination.WeightAt(e)
	}
	if len(got) != 3 || got["big"] != 9 || got["small"] != 2 || got["plain"] != 1 {
		t.Errorf("got weights %v", got)
	}
	if want := []model.StaticAddress{{Host: "192.0.2.1", Weight: 4}}; !slices.Equal(d.Destination.Discovery.Addresses, want) {
		t.Errorf("got addresses %v", d.Destination.Discovery.Addresses)
	}
}
