package appmesh_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// Each object of each case is deleted and created again: the new one has a new UID, is the youngest, and passes
// admission. The result is the same as before:
//
//   - Without a conflict: model, findings and statuses are equal.
//   - In a conflict, the new object is the younger one, see TestOlderObjectWinsConflict. Recreating the younger
//     objects in order restores the result.
//   - A new Mesh has the members of the deleted one, see TestRecreatedMeshKeepsMembers. Members in namespaces that
//     it does not select get a finding; recreating them restores the result.
func TestRecreatedObjectIsServed(t *testing.T) {
	for seed, path := range caseFiles(t) {
		c := readCase(t, path)
		for _, admitted := range []bool{false, true} {
			for _, o := range c.objects {
				name := nameOf(o)
				t.Run(fmt.Sprintf("%s/admitted %v/%s", filepath.Base(path), admitted, name),
					func(t *testing.T) {
						s := newAPIServer(t, c.settings, uint64(seed), admitted, c.objects)
						want, conflicting := s.result(), s.hasConflict(name)
						ofKind := s.byAge(func(other client.Object) bool { return kind(nameOf(other)) == kind(name) })
						_, isMesh := o.(*api.Mesh)

						s.recreate(name)
						if conflicting {
							s.recreate(ofKind[slices.Index(ofKind, name)+1:]...)
						}
						if isMesh {
							s.recreate(s.byAge(s.hasMeshMismatch)...)
						}
						compareResults(t, want, s.result())
					})
			}
		}
	}
}

// All objects are recreated in random order, then objects with a conflict by age, then members with a Mesh that was
// not replaced. The result is the same as before.
func TestRecreatedInAnyOrder(t *testing.T) {
	for i, path := range caseFiles(t) {
		c := readCase(t, path)
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(path), seed), func(t *testing.T) {
				s := newAPIServer(t, c.settings, 100*seed+uint64(i), seed%2 == 0, c.objects)
				want := s.result()
				conflicting := s.byAge(func(o client.Object) bool { return s.hasConflict(nameOf(o)) })
				all := s.byAge(func(client.Object) bool { return true })
				s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				s.recreate(all...)
				s.recreate(conflicting...)
				s.recreate(s.byAge(s.hasMeshMismatch)...)
				compareResults(t, want, s.result())
			})
		}
	}
}

func compareResults(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result differs (-before +after):\n%s", diff)
	}
}

// In a conflict, the older object is served and has a warning, the younger one has an error. If the older one is
// recreated, it is the younger one. Recreating the other one restores the result.
func TestOlderObjectWinsConflict(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, labels: {app: a}}, status: {phase: Running, podIP: 10.0.0.1}}`
	const listeners = "listeners: [{portMapping: {port: 80, protocol: http}}]"
	for name, c := range map[string]struct {
		rest             []string
		older, olderName string
		younger          string
		youngerName      string
		code             string
	}{
		"namespace of two Meshes":      {nil, aMesh, "Mesh /m", `{kind: Mesh, metadata: {name: n1}, spec: {namespaceSelector: {}}}`, "Mesh /n1", "MultipleMeshes spec.namespaceSelector"},
		"Meshes with the same awsName": {nil, aMesh, "Mesh /m", `{kind: Mesh, metadata: {name: twin}, spec: {awsName: m}}`, "Mesh /twin", "NameConflict spec.awsName"},
		"VirtualNodes with the same awsName": {
			[]string{aMesh}, manifestOf("VirtualNode", "a", ""), "VirtualNode ns/a",
			manifestOf("VirtualNode", "b", "awsName: a_ns, "+listeners+", serviceDiscovery: {dns: {hostname: h}}"),
			"VirtualNode ns/b", "NameConflict spec.awsName",
		},
		"VirtualServices with the same awsName": {
			[]string{aMesh, nodeInNS}, manifestOf("VirtualService", "a", ""), "VirtualService ns/a",
			manifestOf("VirtualService", "b", "awsName: a.ns, provider: {virtualNode: {virtualNodeRef: {name: node}}}"),
			"VirtualService ns/b", "NameConflict spec.awsName",
		},
		"VirtualRouters with the same awsName": {
			[]string{aMesh}, manifestOf("VirtualRouter", "a", listeners), "VirtualRouter ns/a",
			manifestOf("VirtualRouter", "b", "awsName: a_ns, "+listeners), "VirtualRouter ns/b", "NameConflict spec.awsName",
		},
		"pod of two VirtualNodes": {
			[]string{aMesh, pod}, manifestOf("VirtualNode", "a", "podSelector: {matchLabels: {app: a}}"), "VirtualNode ns/a",
			manifestOf("VirtualNode", "b", "podSelector: {}"), "VirtualNode ns/b", "SelectorConflict spec.podSelector",
		},
	} {
		for _, admitted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/admitted %v", name, admitted), func(t *testing.T) {
				start := func(last ...string) *apiServer {
					texts := append(append([]string{namespaceNS}, c.rest...), last...)
					return newAPIServer(t, appmesh.Settings{}, 1, admitted, decodeByAge(t, texts))
				}
				s, reversed := start(c.older, c.younger), start(c.younger, c.older)
				want := s.result()
				expect := func(served, other string) {
					t.Helper()
					if got, want := s.findingsOf(served), []string{"Warning " + c.code}; !slices.Equal(got, want) {
						t.Errorf("findings of %s: %q, want %q", served, got, want)
					}
					if got, want := s.findingsOf(other), []string{"Error " + c.code}; !slices.Equal(got, want) {
						t.Errorf("findings of %s: %q, want %q", other, got, want)
					}
				}
				expect(c.olderName, c.youngerName)
				s.recreate(c.olderName)
				expect(c.youngerName, c.olderName)
				compareResults(t, reversed.result(), s.result())
				s.recreate(c.youngerName)
				expect(c.olderName, c.youngerName)
				compareResults(t, want, s.result())
			})
		}
	}
}

// A recreated Mesh has the members of the deleted one. Members in namespaces that it does not select are not served
// and have a finding, until it selects them or they are recreated. Objects without a meshRef are members by their
// namespace.
func TestRecreatedMeshKeepsMembers(t *testing.T) {
	c := readCase(t, caseFolder+"colors.txtar")
	const mesh = "Mesh /shop"
	for seed := range uint64(4) {
		s := newAPIServer(t, c.settings, seed, true, c.objects)
		want, members := s.result(), s.byAge(hasMeshRef)
		expect := func(path string) {
			t.Helper()
			for _, name := range members {
				if got := s.findingsOf(name); !slices.Equal(got, []string{"Error MeshMismatch " + path}) {
					t.Errorf("findings of %s: %q, want MeshMismatch at %s", name, got, path)
				}
				if condition := conditionsOf(s.objects[name])[0]; condition.Status != "False" ||
					condition.Reason != "MeshMismatch" {
					t.Errorf("the condition of %s is %+v, want False and MeshMismatch", name, condition)
				}
			}
			if m := s.engine.State().Index.Model; len(m.Workloads)+len(m.Services)+len(m.Routers)+
				len(m.Destinations)+len(m.Endpoints) > 0 {
				t.Errorf("%s: members are served", path)
			}
		}
		if len(members) < 5 {
			t.Fatalf("only %v have a meshRef", members)
		}
		s.delete(mesh)
		s.sync()
		expect("spec.meshRef")
		manifest := s.manifests[mesh].(*api.Mesh)
		s.manifests[mesh] = manifest.DeepCopy()
		s.manifests[mesh].(*api.Mesh).Spec.NamespaceSelector = nil
		if err := s.create(mesh); err != nil {
			t.Fatal(err)
		}
		s.sync()
		expect("spec.meshRef.uid")
		now := s.objects[mesh].DeepCopyObject().(*api.Mesh)
		now.Spec = manifest.Spec
		s.objects[mesh] = now
		s.engine.Set(now)
		s.sync()
		compareResults(t, want, s.result())
		s.manifests[mesh] = manifest
		s.recreate(mesh)
		compareResults(t, want, s.result())
		s.random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		s.recreate(members...)
		compareResults(t, want, s.result())

		s = newAPIServer(t, c.settings, seed, false, c.objects)
		want = s.result()
		s.recreate(mesh)
		compareResults(t, want, s.result())
	}
}

// The labels of a namespace determine the Mesh of new objects. Existing members keep their Mesh when the labels
// change.
func TestMemberKeepsMeshOfUnselectedNamespace(t *testing.T) {
	const node = "VirtualNode ns/node"
	s := newAPIServer(t, appmesh.Settings{}, 1, true, decodeByAge(t, []string{namespaceNS, aMesh, nodeInNS}))
	want := s.result()
	space := s.objects["Namespace /ns"].DeepCopyObject().(client.Object)
	space.SetLabels(map[string]string{"mesh": "o"})
	s.objects["Namespace /ns"] = space
	s.engine.Set(space)
	s.sync()
	compareResults(t, want, s.result())
	s.delete(node)
	s.sync()
	without := s.result()
	if err := s.create(node); err == nil ||
		err.Error() != "failed to find matching mesh for namespace: ns, expecting 1 but found 0" {
		t.Errorf("create: %v", err)
	}
	s.sync()
	compareResults(t, without, s.result())
}

// Objects of a former control plane, with its meshRefs, give the same result in any order of events.
func TestMigratedObjectsInAnyOrder(t *testing.T) {
	for seed, path := range caseFiles(t) {
		c := readCase(t, path)
		before := newAPIServer(t, c.settings, uint64(seed), true, c.objects)
		want := before.result()
		for range 2 {
			s := newAPIServer(t, c.settings, uint64(seed), true, nil)
			for _, o := range before.list() {
				s.objects[nameOf(o)] = o
				s.engine.Set(o)
				s.sync()
			}
			compareResults(t, want, s.result())
		}
	}
}
