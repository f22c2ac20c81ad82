package appmesh_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// Every object of every case is deleted and created again, as an API server does it: the new one has another uid, it is
// the youngest, and admission designates it anew. What is meant by "it ends where it was":
//
//   - No other object wants what it wants: model, findings and statuses are exactly what they were.
//   - Another object wants the same, and the older one has it: the new object is the younger one, so they swap,
//     see TestSelectorChangesMovePods. Creating the younger ones again, in order, restores the result.
//   - It is a Mesh: it takes over the members of the deleted one, see TestRecreatedMeshKeepsMembers. Members in
//     namespaces that it does not select get a finding; after they are created again, the result is as before.
func TestRecreatedObjectIsServed(t *testing.T) {
	for seed, path := range caseFiles(t) {
		c := readCase(t, path)
		for _, admitted := range []bool{false, true} {
			for _, o := range c.objects {
				name := nameOf(o)
				t.Run(fmt.Sprintf("%s/admitted %v/%s", strings.TrimPrefix(path, "testdata/"), admitted, name),
					func(t *testing.T) {
						s := newAPIServer(t, c.settings, uint64(seed), admitted, c.objects)
						want, contended := s.outcome(), s.contends(name)
						ofKind := s.byAge(func(other client.Object) bool { return kind(nameOf(other)) == kind(name) })
						_, isMesh := o.(*api.Mesh)

						s.again(name)
						if contended {
							s.again(ofKind[slices.Index(ofKind, name)+1:]...)
						}
						if isMesh {
							s.again(s.byAge(s.stranded)...)
						}
						compare(t, want, s.outcome())
					})
			}
		}
	}
}

// Everything is deleted and created again, one after the other in random order. Then members of a Mesh that was, and
// that no other took over, are created again, as users are told, and where age decides, who was older comes first. In
// the end all is as it was.
func TestRecreatedInAnyOrder(t *testing.T) {
	for i, path := range caseFiles(t) {
		c := readCase(t, path)
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", strings.TrimPrefix(path, "testdata/"), seed), func(t *testing.T) {
				s := newAPIServer(t, c.settings, 100*seed+uint64(i), seed%2 == 0, c.objects)
				want := s.outcome()
				contenders := s.byAge(func(o client.Object) bool { return s.contends(nameOf(o)) })
				all := s.byAge(func(client.Object) bool { return true })
				s.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				s.again(all...)
				s.again(contenders...)
				s.again(s.byAge(s.stranded)...)
				compare(t, want, s.outcome())
			})
		}
	}
}

func compare(t *testing.T, want, have string) {
	t.Helper()
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("it does not end where it was (-before +after):\n%s", diff)
	}
}

// Of two objects that want the same thing the older one has it, with a warning, and the younger one an error. When the
// older one is created again it is the other way round, as if they had come in that order. Creating the other one again
// as well brings back what was.
func TestSelectorChangesMovePods(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, labels: {app: a}}, status: {phase: Running, podIP: 10.0.0.1}}`
	const listeners = "listeners: [{portMapping: {port: 80, protocol: http}}]"
	for name, c := range map[string]struct {
		rest       []string
		older, old string // the object, and its name
		younger    string
		new        string
		code       string
	}{
		"meshes that select a namespace": {nil, aMesh, "Mesh /m", `{kind: Mesh, metadata: {name: n1}, spec: {namespaceSelector: {}}}`, "Mesh /n1", "MultipleMeshes spec.namespaceSelector"},
		"meshes of one awsName":          {nil, aMesh, "Mesh /m", `{kind: Mesh, metadata: {name: twin}, spec: {awsName: m}}`, "Mesh /twin", "NameConflict spec.awsName"},
		"VirtualNodes of one awsName": {
			[]string{aMesh}, of("VirtualNode", "a", ""), "VirtualNode ns/a",
			of("VirtualNode", "b", "awsName: a_ns, "+listeners+", serviceDiscovery: {dns: {hostname: h}}"),
			"VirtualNode ns/b", "NameConflict spec.awsName",
		},
		"VirtualServices of one awsName": {
			[]string{aMesh, nodeN}, of("VirtualService", "a", ""), "VirtualService ns/a",
			of("VirtualService", "b", "awsName: a.ns, provider: {virtualNode: {virtualNodeRef: {name: node}}}"),
			"VirtualService ns/b", "NameConflict spec.awsName",
		},
		"VirtualRouters of one awsName": {
			[]string{aMesh}, of("VirtualRouter", "a", listeners), "VirtualRouter ns/a",
			of("VirtualRouter", "b", "awsName: a_ns, "+listeners), "VirtualRouter ns/b", "NameConflict spec.awsName",
		},
		"VirtualNodes that select a pod": {
			[]string{aMesh, pod}, of("VirtualNode", "a", "podSelector: {matchLabels: {app: a}}"), "VirtualNode ns/a",
			of("VirtualNode", "b", "podSelector: {}"), "VirtualNode ns/b", "SelectorConflict spec.podSelector",
		},
	} {
		for _, admitted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/admitted %v", name, admitted), func(t *testing.T) {
				start := func(last ...string) *apiServer {
					texts := append(append([]string{aSpace}, c.rest...), last...)
					return newAPIServer(t, appmesh.Settings{}, 1, admitted, aged(t, texts))
				}
				s, turned := start(c.older, c.younger), start(c.younger, c.older)
				want := s.outcome()
				told := func(served, other string) {
					t.Helper()
					if got, want := s.says(served), []string{"Warning " + c.code}; !slices.Equal(got, want) {
						t.Errorf("%s is told %q, want %q", served, got, want)
					}
					if got, want := s.says(other), []string{"Error " + c.code}; !slices.Equal(got, want) {
						t.Errorf("%s is told %q, want %q", other, got, want)
					}
				}
				told(c.old, c.new)
				s.again(c.old)
				told(c.new, c.old)
				compare(t, turned.outcome(), s.outcome())
				s.again(c.new)
				told(c.old, c.new)
				compare(t, want, s.outcome())
			})
		}
	}
}

// aged reads objects, each a minute younger than the one before.
func aged(t *testing.T, texts []string) []client.Object {
	t.Helper()
	var documents []string
	for i, text := range texts {
		if !strings.Contains(text, "apiVersion") {
			text = strings.Replace(text, "{kind", "{apiVersion: appmesh.k8s.aws/v1beta2, kind", 1)
		}
		documents = append(documents, strings.Replace(text, "metadata: {",
			fmt.Sprintf(`metadata: {creationTimestamp: "2026-01-01T00:%02d:00Z", `, i), 1))
	}
	return decode(t, []byte(strings.Join(documents, "\n---\n")))
}

// A Mesh that is deleted and created again takes over those that admission designated to the first, and all is as it
// was. If it does not select their namespace any more, they are told, with the field, and serve nothing, until it does
// or they are created again, in whatever order. Those without a record are members by their namespace.
func TestRecreatedMeshKeepsMembers(t *testing.T) {
	c := readCase(t, "testdata/colors.txtar")
	const mesh = "Mesh /shop"
	for seed := range uint64(4) {
		s := newAPIServer(t, c.settings, seed, true, c.objects)
		want, members := s.outcome(), s.byAge(recorded)
		told := func(why string) {
			t.Helper()
			for _, name := range members {
				if got := s.says(name); !slices.Equal(got, []string{"Error MeshMismatch " + why}) {
					t.Errorf("%s is told %q, want MeshMismatch at %s", name, got, why)
				}
				if condition := conditionsOf(s.objects[name])[0]; condition.Status != "False" ||
					condition.Reason != "MeshMismatch" {
					t.Errorf("the condition of %s is %+v, want False and MeshMismatch", name, condition)
				}
			}
			if m := s.flow.State().Index.Model; len(m.Workloads)+len(m.Services)+len(m.Routers)+
				len(m.Destinations)+len(m.Endpoints) > 0 {
				t.Errorf("%s: members are served", why)
			}
		}
		if len(members) < 5 {
			t.Fatalf("only %v are members by record", members)
		}
		s.delete(mesh)
		s.settle()
		told("spec.meshRef")
		manifest := s.manifests[mesh].(*api.Mesh)
		s.manifests[mesh] = manifest.DeepCopy()
		s.manifests[mesh].(*api.Mesh).Spec.NamespaceSelector = nil
		if err := s.create(mesh); err != nil {
			t.Fatal(err)
		}
		s.settle()
		told("spec.meshRef.uid")
		now := s.objects[mesh].DeepCopyObject().(*api.Mesh)
		now.Spec = manifest.Spec
		s.objects[mesh] = now
		s.flow.Set(now)
		s.settle()
		compare(t, want, s.outcome())
		s.manifests[mesh] = manifest
		s.again(mesh)
		compare(t, want, s.outcome())
		s.random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		s.again(members...)
		compare(t, want, s.outcome())

		s = newAPIServer(t, c.settings, seed, false, c.objects)
		want = s.outcome()
		s.again(mesh)
		compare(t, want, s.outcome())
	}
}

// What a namespace's labels say counts when an object is created. A member stays one when they change; deleted, it
// cannot come back, and all is as it would be without it.
func TestMemberOfNamespaceNoLongerSelected(t *testing.T) {
	const node = "VirtualNode ns/node"
	s := newAPIServer(t, appmesh.Settings{}, 1, true, aged(t, []string{aSpace, aMesh, nodeN}))
	want := s.outcome()
	space := s.objects["Namespace /ns"].DeepCopyObject().(client.Object)
	space.SetLabels(map[string]string{"mesh": "o"})
	s.objects["Namespace /ns"] = space
	s.flow.Set(space)
	s.settle()
	compare(t, want, s.outcome())
	s.delete(node)
	s.settle()
	without := s.outcome()
	if err := s.create(node); err == nil ||
		err.Error() != "failed to find matching mesh for namespace: ns, expecting 1 but found 0" {
		t.Errorf("admission says %v", err)
	}
	s.settle()
	compare(t, without, s.outcome())
}

// Objects of a control plane that is gone are taken over as they are, with what it wrote into them, in whatever order
// they are seen: in the end all is as it was.
func TestMigratedObjectsInAnyOrder(t *testing.T) {
	for seed, path := range caseFiles(t) {
		c := readCase(t, path)
		before := newAPIServer(t, c.settings, uint64(seed), true, c.objects)
		want := before.outcome()
		for range 2 {
			s := newAPIServer(t, c.settings, uint64(seed), true, nil)
			for _, o := range before.list() {
				s.objects[nameOf(o)] = o
				s.flow.Set(o)
				s.settle()
			}
			compare(t, want, s.outcome())
		}
	}
}
