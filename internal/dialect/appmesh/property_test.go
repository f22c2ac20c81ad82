package appmesh_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

func TestOrderOfObjectsDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, path := range caseFiles(t) {
		c := readCase(t, path)
		want := translated(t, c.settings, c.objects)
		for range 30 {
			random.Shuffle(len(c.objects), func(i, j int) { c.objects[i], c.objects[j] = c.objects[j], c.objects[i] })
			if diff := cmp.Diff(want, translated(t, c.settings, c.objects)); diff != "" {
				t.Fatalf("%s: the result depends on the order (-want +got):\n%s", path, diff)
			}
		}
	}
}

func TestTranslateChangesNoObject(t *testing.T) {
	for _, path := range caseFiles(t) {
		c := readCase(t, path)
		var before []runtime.Object
		for _, o := range c.objects {
			before = append(before, o.DeepCopyObject())
		}
		_, findings := appmesh.Dialect{}.Translate(c.objects)
		for i, o := range c.objects {
			appmesh.Status(o, "m", findings, someTime)
			if diff := cmp.Diff(before[i], o.DeepCopyObject()); diff != "" {
				t.Errorf("%s: object changed:\n%s", path, diff)
			}
		}
	}
}

// TestBadObjectAffectsOnlyItself adds invalid objects to a valid mesh, one by one. The items of the mesh do not
// change, and the invalid object has an error.
func TestBadObjectAffectsOnlyItself(t *testing.T) {
	valid := decode(t, []byte(validMesh))
	want, findings := appmesh.Dialect{}.Translate(valid)
	if len(findings) > 0 {
		t.Fatalf("the valid mesh has findings:\n%s", asText(findings))
	}
	for _, bad := range decode(t, []byte(badObjects)) {
		got, findings := appmesh.Dialect{}.Translate(append(slices.Clone(valid), bad))
		for _, item := range items(want) {
			if !slices.Contains(items(got), item) {
				t.Errorf("with %T %s, changed or missing item:\n%s", bad, bad.GetName(), item)
			}
		}
		if !slices.ContainsFunc(findings, func(f model.Finding) bool {
			return f.Object.Name == bad.GetName() && f.Severity == model.Error
		}) {
			t.Errorf("no error for %T %s, only\n%s", bad, bad.GetName(), asText(findings))
		}
	}
}

// items returns a hash of each item of a model.
func items(m model.Model) []string {
	var out []string
	add := func(kind, key string, item any) { out = append(out, kind+" "+key+" "+model.Hash(item)) }
	for _, x := range m.Meshes {
		add("mesh", x.Name, x)
	}
	for _, x := range m.Workloads {
		add("workload", x.Key.String(), x)
	}
	for _, x := range m.Services {
		add("service", x.Key.String(), x)
	}
	for _, x := range m.Routers {
		add("router", x.Key.String(), x)
	}
	for _, x := range m.Destinations {
		add("destination", x.Key.String(), x)
	}
	for _, x := range m.Endpoints {
		add("endpoint", x.Instance.Name, x)
	}
	return out
}

func translated(t *testing.T, s appmesh.Settings, objects []client.Object) string {
	t.Helper()
	m, findings := appmesh.Dialect{Settings: s}.Translate(objects)
	return asJSON(t, m) + string(asText(findings))
}

const validMesh = `
{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {mesh: m}}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m, uid: u}, spec: {namespaceSelector: {matchLabels: {mesh: m}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: front, namespace: a}
spec:
  meshRef: {name: m, uid: u}
  podSelector: {matchLabels: {app: front}}
  backends: [{virtualService: {virtualServiceRef: {name: back}}}]
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: back, namespace: a}
spec:
  meshRef: {name: m, uid: u}
  listeners: [{portMapping: {port: 80, protocol: http}}]
  serviceDiscovery: {dns: {hostname: back.a.svc.cluster.local}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: back, namespace: a}
spec:
  meshRef: {name: m, uid: u}
  provider: {virtualNode: {virtualNodeRef: {name: back}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: front-1, namespace: a, uid: p1, labels: {app: front}}, status: {podIP: 10.0.0.1}}
`

const badObjects = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: Mesh
metadata: {name: select-all, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {namespaceSelector: {}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: Mesh
metadata: {name: duplicate, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {awsName: m}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: select-all, namespace: a, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {podSelector: {}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: duplicate, namespace: a, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {awsName: back_a}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: duplicate, namespace: a, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {awsName: back.a}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {name: invalid, namespace: a, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  listeners: [{portMapping: {port: 80, protocol: http}}]
  routes: [{name: r, httpRoute: {match: {path: {regex: "("}}, action: {weightedTargets: [{virtualNodeRef: {name: gone}, weight: 1}]}}}]
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: no-mesh, namespace: not-in-the-mesh}}
`
