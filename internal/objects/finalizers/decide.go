// Package finalizers lets go of objects that are being deleted and carry finalizers of the App Mesh controller, which is not there any
// more to remove them.
//
// In: the objects. Out: the same objects without those finalizers, and so gone; an event about a Mesh that waits for its members. Other
// finalizers are others' business, and objects that nobody deletes keep what they have.
package finalizers

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// The finalizers of the App Mesh controller.
const (
	meshMembers       = "finalizers.appmesh.k8s.aws/mesh-members"
	gatewayMembers    = "finalizers.appmesh.k8s.aws/virtualgateway-members"
	appMeshResources  = "finalizers.appmesh.k8s.aws/aws-appmesh-resources"
	cloudMapResources = "finalizers.appmesh.k8s.aws/aws-cloudmap-resources"
)

// Decide says what becomes of an object's finalizers, among all objects: those that it is to keep, and, if it has to wait, for whom.
// A Mesh waits while it has members and a VirtualGateway while it has GatewayRoutes, as they did with App Mesh, so that nobody takes
// them from under those; everything else is let go at once, whatever refers to it.
func Decide(o client.Object, all []client.Object) (keep []string, waits string) {
	have := o.GetFinalizers()
	if o.GetDeletionTimestamp() == nil || !slices.ContainsFunc(have, ours) {
		return have, ""
	}
	if members := membersOf(o, all); len(members) > 0 {
		return have, "waits until its members are deleted: " + abbreviate(members)
	}
	return slices.DeleteFunc(slices.Clone(have), ours), ""
}

func ours(finalizer string) bool {
	switch finalizer {
	case meshMembers, gatewayMembers, appMeshResources, cloudMapResources:
		return true
	}
	return false
}

// membersOf lists the objects that belong to a Mesh or a VirtualGateway, by name and uid. BackendGroups never counted, and other kinds
// have no members.
func membersOf(owner client.Object, all []client.Object) []string {
	var out []string
	for _, o := range all {
		var kind string
		var belongs bool
		switch owner := owner.(type) {
		case *api.Mesh:
			var ref *api.MeshReference
			kind, ref = membership(o)
			belongs = ref != nil && ref.Name == owner.Name && ref.UID == owner.UID
		case *api.VirtualGateway:
			route, is := o.(*api.GatewayRoute)
			kind, belongs = api.KindGatewayRoute, is && attached(route, owner)
		default:
			return nil
		}
		if belongs {
			out = append(out, fmt.Sprintf("%s %s/%s", kind, o.GetNamespace(), o.GetName()))
		}
	}
	slices.Sort(out)
	return out
}

// attached tells whether admission gave a GatewayRoute to a VirtualGateway; without a namespace, the route's own is meant.
func attached(route *api.GatewayRoute, gateway *api.VirtualGateway) bool {
	ref := route.Spec.VirtualGatewayRef
	if ref == nil || ref.Name != gateway.Name || ref.UID != gateway.UID {
		return false
	}
	return ref.Namespace == nil && route.Namespace == gateway.Namespace || ref.Namespace != nil && *ref.Namespace == gateway.Namespace
}

func membership(o client.Object) (kind string, ref *api.MeshReference) {
	switch o := o.(type) {
	case *api.VirtualNode:
		return api.KindVirtualNode, o.Spec.MeshRef
	case *api.VirtualService:
		return api.KindVirtualService, o.Spec.MeshRef
	case *api.VirtualRouter:
		return api.KindVirtualRouter, o.Spec.MeshRef
	case *api.VirtualGateway:
		return api.KindVirtualGateway, o.Spec.MeshRef
	case *api.GatewayRoute:
		return api.KindGatewayRoute, o.Spec.MeshRef
	}
	return "", nil
}

// abbreviate lists the first few and counts the rest.
func abbreviate(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}
