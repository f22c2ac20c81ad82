package release

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

const foreign = "example.com/mine"

func meta(name string, deleted bool, finalizers ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID("uid of " + name), Finalizers: finalizers}
	if deleted {
		m.DeletionTimestamp = new(metav1.Unix(1, 0))
	}
	return m
}

func mesh(deleted bool, finalizers ...string) *api.Mesh {
	m := &api.Mesh{ObjectMeta: meta("m", deleted, finalizers...)}
	m.Namespace = ""
	return m
}

func node(name string, of *api.Mesh, deleted bool, finalizers ...string) *api.VirtualNode {
	n := &api.VirtualNode{ObjectMeta: meta(name, deleted, finalizers...)}
	n.Spec.MeshRef = &api.MeshReference{Name: of.Name, UID: of.UID}
	return n
}

func TestDecide(t *testing.T) {
	alive, going := mesh(false, meshMembers, appMeshResources), mesh(true, foreign, meshMembers, appMeshResources)
	stranger := node("stranger", &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "of an earlier m"}}, false)
	group := &api.BackendGroup{ObjectMeta: meta("g", false)}
	group.Spec.MeshRef = &api.MeshReference{Name: "m", UID: going.UID}
	door := &api.VirtualGateway{ObjectMeta: meta("g", true, gatewayMembers, appMeshResources)}
	route := func(uid types.UID, namespace *string) *api.GatewayRoute {
		r := &api.GatewayRoute{ObjectMeta: meta("r", false)}
		r.Spec.VirtualGatewayRef = &api.VirtualGatewayReference{Namespace: namespace, Name: "g", UID: uid}
		return r
	}
	gone := route("uid of g", nil)
	gone.ObjectMeta = meta("r", true, appMeshResources)
	for _, c := range []struct {
		text   string
		object client.Object
		others []client.Object
		keep   []string
		waits  string
	}{
		{"nobody deletes it", alive, nil, alive.Finalizers, ""},
		{"a Mesh without members", going, []client.Object{stranger, group}, []string{foreign}, ""},
		{"a Mesh with a member", going, []client.Object{node("n", going, false)}, going.Finalizers, "waits until its members are deleted: VirtualNode a/n"},
		{"a Mesh with a member that is going", going, []client.Object{node("n", going, true, foreign)}, going.Finalizers, "VirtualNode a/n"},
		{"a member, before its Mesh", node("n", alive, true, appMeshResources, cloudMapResources), []client.Object{alive}, nil, ""},
		{"a gateway with a route", door, []client.Object{route("uid of g", new("a"))}, door.Finalizers, "waits until its members are deleted: GatewayRoute a/r"},
		{"a gateway with a route that names no namespace", door, []client.Object{route("uid of g", nil)}, door.Finalizers, "GatewayRoute a/r"},
		{"a gateway with routes of others", door, []client.Object{route("of an earlier g", new("a")), route("uid of g", new("b")), &api.GatewayRoute{ObjectMeta: meta("r", false)}}, nil, ""},
		{"a route, before its gateway", gone, []client.Object{door}, nil, ""},
		{"finalizers of others", node("n", alive, true, foreign), nil, []string{foreign}, ""},
	} {
		keep, waits := Decide(c.object, append(c.others, c.object))
		if !slices.Equal(keep, c.keep) || !strings.Contains(waits, c.waits) || (waits == "") != (c.waits == "") {
			t.Errorf("%s: it keeps %v and waits for %q", c.text, keep, waits)
		}
	}
}

// Whatever the order in which everything is deleted, nothing is left.
func TestEverythingGoes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	m := mesh(false, meshMembers, appMeshResources)
	objects := []client.Object{m, node("n1", m, false, appMeshResources, cloudMapResources), node("n2", m, false, appMeshResources)}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	recorder := events.NewFakeRecorder(100)
	r := New(Releaser{Client: c, Recorder: recorder, Log: slog.New(slog.DiscardHandler), Objects: func() []client.Object {
		var meshes api.MeshList
		var nodes api.VirtualNodeList
		if c.List(t.Context(), &meshes) != nil || c.List(t.Context(), &nodes) != nil {
			t.Fatal("no list")
		}
		var out []client.Object
		for i := range meshes.Items {
			out = append(out, &meshes.Items[i])
		}
		for i := range nodes.Items {
			out = append(out, &nodes.Items[i])
		}
		return out
	}})
	gone := func(o client.Object) bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object)))
	}
	for i, o := range objects {
		if err := c.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		again := r.pass(t.Context())
		r.pass(t.Context())
		switch i {
		case 0:
			if gone(m) || again != remindAfter || len(recorder.Events) != 1 {
				t.Errorf("a Mesh with two members: gone %v, again after %v, %d events", gone(m), again, len(recorder.Events))
			}
			if e := <-recorder.Events; !strings.HasPrefix(e, "Warning PendingMembersDeletion") || !strings.Contains(e, "a/n1, VirtualNode a/n2") {
				t.Errorf("event %q", e)
			}
		case 1:
			if !gone(o) || gone(m) {
				t.Errorf("a member: gone %v, its Mesh %v", gone(o), gone(m))
			}
		}
	}
	for _, o := range objects {
		if !gone(o) {
			t.Errorf("%s is still there", o.GetName())
		}
	}
}
