package appmesh

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// Finalizers lists the finalizers of the App Mesh controller.
func (Dialect) Finalizers() []string {
	return []string{
		api.FinalizerMeshMembers, api.FinalizerVirtualGatewayMembers, api.FinalizerAWSResources,
		api.FinalizerCloudMapResources,
	}
}

// MemberFinalizer returns the finalizer that delays the deletion of a Mesh or VirtualGateway until its members are
// deleted, as in App Mesh. Other kinds get no finalizer: nothing outside the cluster belongs to them.
func (Dialect) MemberFinalizer(o client.Object) string {
	switch o.(type) {
	case *api.Mesh:
		return api.FinalizerMeshMembers
	case *api.VirtualGateway:
		return api.FinalizerVirtualGatewayMembers
	}
	return ""
}

// Owners returns the UIDs of the objects whose finalizers wait for the deletion of this object: its Mesh, and the
// VirtualGateway of a GatewayRoute. The Mesh does not wait for BackendGroups, as in App Mesh.
func (Dialect) Owners(o client.Object) []types.UID {
	var out []types.UID
	if _, is := o.(*api.BackendGroup); is {
		return nil
	}
	if ref := meshRefField(o); ref != nil && *ref != nil && (*ref).UID != "" {
		out = append(out, (*ref).UID)
	}
	if route, is := o.(*api.GatewayRoute); is && route.Spec.VirtualGatewayRef != nil &&
		route.Spec.VirtualGatewayRef.UID != "" {
		out = append(out, route.Spec.VirtualGatewayRef.UID)
	}
	return out
}
