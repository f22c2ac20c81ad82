package appmesh

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// AWSName returns the name of an object in its mesh: spec.awsName or, if it is absent or empty, the default of the
// kind. The default of a VirtualService is name.namespace, a host name; of a Mesh its name; of other kinds
// name_namespace. Kinds without the field return "".
func AWSName(object client.Object) string {
	set := awsNameField(object)
	switch {
	case set == nil:
		return ""
	case *set != nil && **set != "":
		return **set
	}
	return defaultAWSName(object)
}

func defaultAWSName(object client.Object) string {
	switch object.(type) {
	case *api.Mesh:
		return object.GetName()
	case *api.VirtualService:
		return object.GetName() + "." + object.GetNamespace()
	}
	return object.GetName() + "_" + object.GetNamespace()
}

// awsNameField returns the field spec.awsName, or nil for kinds without it.
func awsNameField(object client.Object) **string {
	switch o := object.(type) {
	case *api.Mesh:
		return &o.Spec.AWSName
	case *api.VirtualNode:
		return &o.Spec.AWSName
	case *api.VirtualService:
		return &o.Spec.AWSName
	case *api.VirtualRouter:
		return &o.Spec.AWSName
	case *api.VirtualGateway:
		return &o.Spec.AWSName
	case *api.GatewayRoute:
		return &o.Spec.AWSName
	}
	return nil
}

// meshRefField returns the field spec.meshRef, or nil for kinds without it.
func meshRefField(object client.Object) **api.MeshReference {
	switch o := object.(type) {
	case *api.VirtualNode:
		return &o.Spec.MeshRef
	case *api.VirtualService:
		return &o.Spec.MeshRef
	case *api.VirtualRouter:
		return &o.Spec.MeshRef
	case *api.VirtualGateway:
		return &o.Spec.MeshRef
	case *api.GatewayRoute:
		return &o.Spec.MeshRef
	case *api.BackendGroup:
		return &o.Spec.MeshRef
	}
	return nil
}

// kindOf returns the kind of an object of the group, or "". Typed clients leave TypeMeta empty.
func kindOf(object client.Object) string {
	switch object.(type) {
	case *api.Mesh:
		return api.KindMesh
	case *api.VirtualNode:
		return api.KindVirtualNode
	case *api.VirtualService:
		return api.KindVirtualService
	case *api.VirtualRouter:
		return api.KindVirtualRouter
	case *api.VirtualGateway:
		return api.KindVirtualGateway
	case *api.GatewayRoute:
		return api.KindGatewayRoute
	case *api.BackendGroup:
		return api.KindBackendGroup
	}
	return ""
}

// Syntax of names in App Mesh. Names are used in resource names, node IDs and host headers. Lengths are checked apart:
// a compiled expression with a large repeat count has 100 kB.
var (
	resourceName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	hostName     = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

// nameFault returns an error text for an invalid awsName, or "".
func nameError(kind, name string) string {
	switch {
	case kind == api.KindVirtualService && (len(name) > 255 || !hostName.MatchString(name)):
		return fmt.Sprintf("%q is not a host name of at most 255 letters, digits, '-', '_' and '.'", name)
	case kind != api.KindVirtualService && (len(name) > 255 || !resourceName.MatchString(name)):
		return fmt.Sprintf("%q is not a name of 1 to 255 letters, digits, '-' and '_'", name)
	}
	return ""
}

// arnPrefix starts the ARNs of Anymesh, in the format that tools expect. The region is a placeholder, and so is the
// account, unless the mesh has an owner.
const (
	arnPrefix = "arn:aws:appmesh:anymesh:"
	noAccount = "000000000000"
)

// parseARN parses an ARN of the form arn:...:mesh/<mesh>/<type>/<name>. It ignores account and mesh, as the released
// controller.
func parseARN(arn, wantType string) (name string, err error) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return "", fmt.Errorf("%q is not an ARN of the form arn:aws:appmesh:<region>:<account>:mesh/<mesh>/%s/<name>", arn,
			wantType)
	}
	path := strings.Split(parts[5], "/")
	if len(path) != 4 || path[0] != "mesh" || path[2] != wantType || path[3] == "" {
		return "", fmt.Errorf("%q is not the ARN of a %s: it does not end in mesh/<mesh>/%s/<name>", arn, wantType, wantType)
	}
	return path[3], nil
}
