package appmesh

import (
	"regexp"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// meshOwner is the AWS account that owns a mesh that accounts share.
type meshOwner string

// namedBy is what other objects add to the resource name of an object.
type namedBy struct {
	// owner is that of the mesh.
	owner meshOwner
	// gateway is the awsName of the VirtualGateway of a GatewayRoute. Without it, a GatewayRoute has no resource name.
	gateway string
}

var accountID = regexp.MustCompile(`^[0-9]{12}$`)

// owner returns the owner of a Mesh; "" if it has none or an invalid one.
func (t *meshRule) owner(at model.Origin, o *api.Mesh) meshOwner {
	if o.Spec.MeshOwner == nil {
		return ""
	}
	if !accountID.MatchString(*o.Spec.MeshOwner) {
		t.report(at.At("spec.meshOwner"), model.CodeInvalidField, "%q is not an AWS account ID of 12 digits",
			*o.Spec.MeshOwner)
		return ""
	}
	return meshOwner(*o.Spec.MeshOwner)
}

// nodeID returns the node ID of the sidecars of a VirtualNode or VirtualGateway. In App Mesh, it is the resource name,
// which has the owner of a mesh of another account. See model.Workload.HasNode.
func nodeID(owners *incremental.Reader[string, meshOwner], mesh, resource string) string {
	owner, _ := owners.ReadFirst(mesh)
	return "mesh/" + sharedMesh(mesh, owner) + "/" + resource
}

// sharedMesh returns the name of a mesh with its owner, if it has one.
func sharedMesh(mesh string, owner meshOwner) string {
	if owner == "" {
		return mesh
	}
	return mesh + "@" + string(owner)
}
