package delivery_test

import (
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/model"
)

// secureClient is a client of back whose connections require TLS.
const secureClient = `
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: NAME, namespace: a}
spec:
  podSelector: {matchLabels: {app: NAME}}
  backendDefaults: {clientPolicy: {tls: {validation: {trust: {file: {certificateChain: /tls/ca.crt}}}}}}
  backends: [{virtualService: {virtualServiceRef: {name: back}}}]
---
{apiVersion: v1, kind: Pod, metadata: {name: NAME-1, namespace: a, uid: NAME, labels: {app: NAME}}}
`

// TestClientsWithDifferentTLS checks that clients with equal client policies share a destination, that others have
// another one with the same names, and that a change of the destination reaches all of them.
func TestClientsWithDifferentTLS(t *testing.T) {
	f := newFixture(t)
	client := func(name string) string {
		return strings.TrimSpace(strings.ReplaceAll(secureClient, "NAME", name)) + "\n"
	}
	f.applyYAML(t, strings.TrimSpace(shop)+"\n"+client("one")+client("two"))
	one, two := model.Key{Mesh: "m", Name: "one_a"}, model.Key{Mesh: "m", Name: "two_a"}
	ref := xds.Ref{TypeURL: clusters, Name: toBack}
	plain, secured := f.VersionOf(front, ref), f.VersionOf(one, ref)
	if plain == "" || secured == "" || plain == secured || secured != f.VersionOf(two, ref) {
		t.Errorf("versions of front, one and two: %q, %q, %q", plain, secured, f.VersionOf(two, ref))
	}
	if got := f.rendered(t)["destination"]; got != 2 {
		t.Errorf("%v destinations are rendered, want 2", got)
	}

	f.publisher.takeCalls()
	f.engine.Set(objects(t, strings.ReplaceAll(strings.Split(shop, "\n---\n")[2], "back.example", "moved.example"))[0])
	f.engine.Sync()
	for _, w := range []model.Key{front, one, two} {
		if got := f.VersionOf(w, ref); got == plain || got == secured {
			t.Errorf("%s has the previous destination", w)
		}
	}
	if calls := f.publisher.takeCalls(); len(calls) != 3 || !slices.ContainsFunc(calls, func(c string) bool {
		return strings.HasPrefix(c, "update "+one.String()) && strings.Contains(c, "+"+toBack)
	}) {
		t.Errorf("got %q", calls)
	}

	// Without its policy, two shares the destination of front. The last client with a policy leaves.
	f.engine.Set(objects(t, strings.ReplaceAll(strings.Split(shop, "\n---\n")[1], "front", "two"))[0])
	f.engine.Sync()
	if got := f.VersionOf(two, ref); got == "" || got != f.VersionOf(front, ref) {
		t.Errorf("two has version %q, front has %q", got, f.VersionOf(front, ref))
	}
	before := f.rendered(t)["destination"]
	f.engine.Delete(objects(t, strings.TrimPrefix(client("one"), "---\n"))[0])
	f.engine.Sync()
	f.engine.Set(objects(t, strings.Split(shop, "\n---\n")[2])[0])
	f.engine.Sync()
	if got := f.rendered(t)["destination"] - before; got != 1 {
		t.Errorf("%v destinations are rendered after the last client with a policy left, want 1", got)
	}
}
