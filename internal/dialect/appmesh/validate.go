package appmesh

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// ValidateCreate returns the denial of a new object, or nil. It denies what the released controller denied, with the
// same texts, and objects that are invalid independently of other objects, with a *dialect.Refusal. Errors that
// depend on other objects, and fields that are not supported, are reported in the status only.
func ValidateCreate(object client.Object) error {
	if err := validate(object); err != nil {
		return err
	}
	return refuse(ownErrors(object))
}

// ValidateUpdate returns the denial of an update, or nil. Both objects have the same kind. If neither the spec
// nor the names that a Mesh binds change, the update is accepted, so that finalizers can be removed from invalid
// objects. An update of an invalid spec is accepted if it adds no errors, so that users can fix errors one by one.
func ValidateUpdate(before, after client.Object) error {
	if kindOf(before) != kindOf(after) {
		return fmt.Errorf("the kind cannot change from %s to %s", kindOf(before), kindOf(after))
	}
	if err := immutable(before, after); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(specOf(before), specOf(after)) &&
		before.GetAnnotations()[serviceNamespacesAnnotation] == after.GetAnnotations()[serviceNamespacesAnnotation] {
		return nil
	}
	if err := validate(after); err != nil {
		return err
	}
	return refuse(addedErrors(ownErrors(before), ownErrors(after)))
}

func validate(object client.Object) error {
	switch o := object.(type) {
	case *api.Mesh:
		return validateMesh(o)
	case *api.VirtualNode:
		return validateNode(o)
	case *api.VirtualRouter:
		return validateRouter(o)
	case *api.VirtualGateway:
		return validateGateway(o)
	case *api.GatewayRoute:
		return validateGatewayRoute(o)
	}
	return nil
}

func specOf(object client.Object) any {
	switch o := object.(type) {
	case *api.Mesh:
		return o.Spec
	case *api.VirtualNode:
		return o.Spec
	case *api.VirtualService:
		return o.Spec
	case *api.VirtualRouter:
		return o.Spec
	case *api.VirtualGateway:
		return o.Spec
	case *api.GatewayRoute:
		return o.Spec
	case *api.BackendGroup:
		return o.Spec
	}
	return nil
}

func validateMesh(o *api.Mesh) error {
	if d := o.Spec.MeshServiceDiscovery; d != nil && d.IPPreference != nil && *d.IPPreference != api.IPv4Only &&
		*d.IPPreference != api.IPv6Only {
		return fmt.Errorf("Mesh-%s: spec.meshServiceDiscovery.ipPreference: %q is neither IPv4_ONLY nor IPv6_ONLY",
			o.Name, *d.IPPreference)
	}
	return nil
}

func validateNode(o *api.VirtualNode) error {
	if sd := o.Spec.ServiceDiscovery; len(o.Spec.Listeners) > 0 &&
		(sd == nil || sd.DNS == nil && sd.AWSCloudMap == nil) {
		return fmt.Errorf("VirtualNode-%s: spec.serviceDiscovery is required if spec.listeners is set", o.Name)
	}
	seen := map[types.NamespacedName]bool{}
	for i, b := range o.Spec.Backends {
		key := backendKey(o.Namespace, b)
		if key.Name != "" && seen[key] {
			what, name := "VirtualServiceReferences", key.String()
			if b.VirtualService.VirtualServiceARN != nil {
				what, name = "VirtualServiceReferenceARNs", key.Name
			}
			return fmt.Errorf("VirtualNode-%s has duplicate %s %s; list each backend once: spec.backends[%d].virtualService", o.Name, what, name, i)
		}
		seen[key] = true
	}
	for i, l := range o.Spec.Listeners {
		p := l.ConnectionPool
		if p != nil && count(p.TCP != nil, p.HTTP != nil, p.HTTP2 != nil, p.GRPC != nil) > 1 {
			return fmt.Errorf("VirtualNode-%s: spec.listeners[%d].connectionPool: only one type of connection pool is allowed", o.Name, i)
		}
	}
	return nil
}

func validateRouter(o *api.VirtualRouter) error {
	seen := map[string]bool{}
	for i, r := range o.Spec.Routes {
		if seen[r.Name] {
			return fmt.Errorf("VirtualRouter-%s has duplicate route entries for %s; give each route a unique name: spec.routes[%d].name", o.Name, r.Name, i)
		}
		seen[r.Name] = true
		for _, kind := range []struct {
			field string
			route *api.HTTPRoute
		}{{"httpRoute", r.HTTPRoute}, {"http2Route", r.HTTP2Route}} {
			field, route := kind.field, kind.route
			if route == nil {
				continue
			}
			at := fmt.Sprintf("VirtualRouter-%s: spec.routes[%d].%s.match", o.Name, i, field)
			if count(route.Match.Prefix != nil, route.Match.Path != nil) != 1 {
				return fmt.Errorf("%s: specify exactly one of prefix and path", at)
			}
			if p := route.Match.Path; p != nil && count(p.Exact != nil, p.Regex != nil) != 1 {
				return fmt.Errorf("%s.path: specify exactly one of exact and regex", at)
			}
		}
	}
	return nil
}

func validateGateway(o *api.VirtualGateway) error {
	for i, l := range o.Spec.Listeners {
		p := l.ConnectionPool
		if p != nil && count(p.HTTP != nil, p.HTTP2 != nil, p.GRPC != nil) > 1 {
			return fmt.Errorf("VirtualGateway-%s: spec.listeners[%d].connectionPool: only one type of connection pool is allowed", o.Name, i)
		}
	}
	return nil
}

// count returns the number of conditions that hold.
func count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
