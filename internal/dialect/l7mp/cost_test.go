package l7mp_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/l7mp/v1"
)

// A change evaluates as many rules in a large mesh as in a small one.
func TestEvaluationsDoNotGrowWithObjects(t *testing.T) {
	changes := []string{"a Target", "rules", "another Target", "a pod"}
	few, many := evaluations(t, 10), evaluations(t, 500)
	for i, change := range changes {
		if few[i] != many[i] || few[i] == 0 {
			t.Errorf("%s: %d evaluations with 10 VirtualServices, %d with 500", change, few[i], many[i])
		}
	}
}

// evaluations returns the number of evaluations of each change of a gateway with VirtualServices that have a Target
// each.
func evaluations(t *testing.T, n int) []uint64 {
	t.Helper()
	m, objects := newMesh()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{apiVersion: l7mp.io/v1, kind: VirtualService, metadata: {name: s%d, namespace: web}, spec: {selector: {matchLabels: {app: gateway}}, listener: {spec: {TCP: {port: %d}}, rules: [{action: {route: {destination: t%d}}}]}}}
---
{apiVersion: l7mp.io/v1, kind: Target, metadata: {name: t%d, namespace: web}, spec: {cluster: {spec: {TCP: {port: 1}}, endpoints: [{selector: {matchLabels: {app: w%d}}}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: w%d, namespace: web, uid: w%d, labels: {app: w%d}}, spec: {containers: [{name: app}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: g%d, namespace: web, uid: g%d, labels: {app: gateway, anymesh.dev/proxy-uuid: g%d}}, spec: {containers: [{name: l7mp}]}}
---
`, i, 2000+i, i, i, i, i, i, i, i, i, i)
	}
	all := decode(t, text.String())
	for _, o := range all {
		objects.Set(cached(t, o))
	}
	m.run()
	target := all[1].DeepCopyObject().(*api.Target)
	target.Spec.Cluster.Spec.Raw = []byte(`{"TCP": {"port": 2}}`)
	service := all[0].DeepCopyObject().(*api.VirtualService)
	service.Spec.Listener.Rules[0].Action.Route.Raw = []byte(`{"destination": "new"}`)
	added := all[1].DeepCopyObject().(*api.Target)
	added.Name = "new"
	pod := decode(t, `{apiVersion: v1, kind: Pod, metadata: {name: w, namespace: web, uid: w, labels: {app: w0}}, spec: {containers: [{name: app}]}}`)[0]
	var out []uint64
	for _, o := range []client.Object{target, service, added, pod} {
		before := m.g.Evaluations()
		objects.Set(cached(t, o))
		m.run()
		out = append(out, m.g.Evaluations()-before)
	}
	return out
}
