package finalizers

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

const foreign = "example.com/mine"

// The finalizers of the App Mesh controller.
const (
	meshMembers       = "finalizers.appmesh.k8s.aws/mesh-members"
	gatewayMembers    = "finalizers.appmesh.k8s.aws/virtualgateway-members"
	appMeshResources  = "finalizers.appmesh.k8s.aws/aws-appmesh-resources"
	cloudMapResources = "finalizers.appmesh.k8s.aws/aws-cloudmap-resources"
)

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
		{"a gateway with routes of others", door, []client.Object{route("of an earlier g", new("a")), &api.GatewayRoute{ObjectMeta: meta("r", false)}}, nil, ""},
		{"a route, before its gateway", gone, []client.Object{door}, nil, ""},
		{"finalizers of others", node("n", alive, true, foreign), nil, []string{foreign}, ""},
	} {
		x := newIndex([]Dialect{appmesh.Dialect{}})
		for _, o := range append(c.others, c.object) {
			x.set(o)
		}
		o, members := x.lookup(keyOf(c.object))
		keep, waits := decide(appmesh.Dialect{}, o, members)
		if !slices.Equal(keep, c.keep) || !strings.Contains(waits, c.waits) || (waits == "") != (c.waits == "") {
			t.Errorf("%s: it keeps %v and waits for %q", c.text, keep, waits)
		}
	}
}
