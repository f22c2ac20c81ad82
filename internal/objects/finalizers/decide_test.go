package finalizers

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

const foreign = "example.com/mine"

// Finalizers of the App Mesh controller.
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
	live, deleting := mesh(false, meshMembers, appMeshResources), mesh(true, foreign, meshMembers, appMeshResources)
	otherMember := node("other", &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "of an earlier m"}}, false)
	group := &api.BackendGroup{ObjectMeta: meta("g", false)}
	group.Spec.MeshRef = &api.MeshReference{Name: "m", UID: deleting.UID}
	gateway := &api.VirtualGateway{ObjectMeta: meta("g", true, gatewayMembers, appMeshResources)}
	route := func(uid types.UID, namespace *string) *api.GatewayRoute {
		r := &api.GatewayRoute{ObjectMeta: meta("r", false)}
		r.Spec.VirtualGatewayRef = &api.VirtualGatewayReference{Namespace: namespace, Name: "g", UID: uid}
		return r
	}
	deletingRoute := route("uid of g", nil)
	deletingRoute.ObjectMeta = meta("r", true, appMeshResources)
	for _, c := range []struct {
		name       string
		object     client.Object
		others     []client.Object
		want       []string
		waitReason string
	}{
		{"not being deleted", live, nil, live.Finalizers, ""},
		{"Mesh without finalizer", mesh(false, foreign), nil, []string{foreign, meshMembers}, ""},
		{"gateway without finalizer", &api.VirtualGateway{ObjectMeta: meta("g", false)}, nil, []string{gatewayMembers}, ""},
		{"other kinds have no members", node("n", live, false), []client.Object{live}, nil, ""},
		{"no finalizer is added during the deletion", mesh(true, foreign), []client.Object{node("n", live, false)}, []string{foreign}, ""},
		{"Mesh without members", deleting, []client.Object{otherMember, group}, []string{foreign}, ""},
		{"Mesh with a member", deleting, []client.Object{node("n", deleting, false)}, deleting.Finalizers, "waits until its members are deleted: VirtualNode a/n"},
		{"Mesh with a member that is being deleted", deleting, []client.Object{node("n", deleting, true, foreign)}, deleting.Finalizers, "VirtualNode a/n"},
		{"member", node("n", live, true, appMeshResources, cloudMapResources), []client.Object{live}, nil, ""},
		{"gateway with a route", gateway, []client.Object{route("uid of g", new("a"))}, gateway.Finalizers, "waits until its members are deleted: GatewayRoute a/r"},
		{"gateway with a route without namespace in the reference", gateway, []client.Object{route("uid of g", nil)}, gateway.Finalizers, "GatewayRoute a/r"},
		{"gateway with routes of other gateways", gateway, []client.Object{route("of an earlier g", new("a")), &api.GatewayRoute{ObjectMeta: meta("r", false)}}, nil, ""},
		{"route", deletingRoute, []client.Object{gateway}, nil, ""},
		{"other finalizers", node("n", live, true, foreign), nil, []string{foreign}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := newIndex([]dialect.Finalizers{appmesh.Dialect{}})
			for _, o := range append(c.others, c.object) {
				x.set(o)
			}
			o, members := x.lookup(keyOf(c.object))
			want, waitReason := decide(appmesh.Dialect{}, o, members)
			if !slices.Equal(want, c.want) || !strings.Contains(waitReason, c.waitReason) ||
				(waitReason == "") != (c.waitReason == "") {
				t.Errorf("got finalizers %v, reason %q", want, waitReason)
			}
		})
	}
}
