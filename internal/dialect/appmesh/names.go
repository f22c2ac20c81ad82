package appmesh

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// AWSName gives the name of an object within its mesh: spec.awsName or, where that is absent or empty, the default of
// the kind. A VirtualService's default joins name and namespace with a dot, because clients dial it; the others' with
// an underscore; a Mesh has no namespace. Kinds without the field give "".
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

// awsNameField gives the field spec.awsName, or nil for kinds that have none.
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

// meshRefField gives the field spec.meshRef, or nil for kinds that have none.
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

// kindOf gives the kind of an object of the group, and "" for others. TypeMeta is no help: typed clients leave it
// empty.
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

// The syntax of names that App Mesh accepted. They end up in resource names, node ids and host headers.
var (
	resourceName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)
	hostName     = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

// nameFault says what is wrong with an awsName, or "".
func nameFault(kind, name string) string {
	switch {
	case kind == api.KindVirtualService && (len(name) > 255 || !hostName.MatchString(name)):
		return fmt.Sprintf("%q is no host name of at most 255 letters, digits, '-', '_' and '.'", name)
	case kind != api.KindVirtualService && !resourceName.MatchString(name):
		return fmt.Sprintf("%q is no name of 1 to 255 letters, digits, '-' and '_'", name)
	}
	return ""
}

// arnPrefix makes the resource names that Anymesh gives out look like those that tools expect. Region and account
// are made up: there is no AWS behind them.
const arnPrefix = "arn:aws:appmesh:anymesh:000000000000:mesh/"

// parseARN takes a resource name of the form arn:...:mesh/<mesh>/<type>/<name> apart. Only the trailing name counts:
// which account and mesh it speaks of is not looked at, as in the released controller.
func parseARN(arn, wantType string) (name string, err error) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" {
		return "", fmt.Errorf("%q is no ARN: want arn:aws:appmesh:<region>:<account>:mesh/<mesh>/%s/<name>", arn,
			wantType)
	}
	path := strings.Split(parts[5], "/")
	if len(path) != 4 || path[0] != "mesh" || path[2] != wantType || path[3] == "" {
		return "", fmt.Errorf("%q names no %s: want it to end in mesh/<mesh>/%s/<name>", arn, wantType, wantType)
	}
	return path[3], nil
}
