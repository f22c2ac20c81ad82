package appmesh

import (
	"cmp"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
)

// DeletionReads returns the kinds that WarnOfDeletion reads: VirtualRouters for a VirtualNode.
func (Dialect) DeletionReads(object client.Object) []client.Object {
	if _, is := object.(*api.VirtualNode); is {
		return []client.Object{&api.VirtualRouter{}}
	}
	return nil
}

// WarnOfDeletion names the routes that send requests to a VirtualNode. App Mesh refused its deletion meanwhile.
func (Dialect) WarnOfDeletion(object client.Object, c dialect.AdmissionContext) (warnings []string) {
	node, is := object.(*api.VirtualNode)
	if !is {
		return nil
	}
	for _, router := range dialect.ObjectsOf[*api.VirtualRouter](c.Objects) {
		if router.DeletionTimestamp != nil {
			continue
		}
		for _, route := range router.Spec.Routes {
			var share, total int64
			for _, to := range targetsOf(route) {
				total += max(to.Weight, 0)
				if namesNode(router, to, node) {
					share += max(to.Weight, 0)
				}
			}
			if share > 0 {
				warnings = append(warnings, fmt.Sprintf(
					"route %s of VirtualRouter %s/%s sends it %d of %d requests: they fail from now on; remove the target first",
					route.Name, router.Namespace, router.Name, share, total))
			}
		}
	}
	return warnings
}

func targetsOf(r api.Route) []api.WeightedTarget {
	switch {
	case r.HTTPRoute != nil:
		return r.HTTPRoute.Action.WeightedTargets
	case r.HTTP2Route != nil:
		return r.HTTP2Route.Action.WeightedTargets
	case r.GRPCRoute != nil:
		return r.GRPCRoute.Action.WeightedTargets
	case r.TCPRoute != nil:
		return r.TCPRoute.Action.WeightedTargets
	}
	return nil
}

// namesNode reports whether a target names the VirtualNode.
func namesNode(router *api.VirtualRouter, to api.WeightedTarget, node *api.VirtualNode) bool {
	if to.VirtualNodeARN != nil {
		name, err := parseARN(*to.VirtualNodeARN, "virtualNode")
		return err == nil && name == AWSName(node)
	}
	ref := to.VirtualNodeRef
	return ref != nil && ref.Name == node.Name && cmp.Or(deref(ref.Namespace), router.Namespace) == node.Namespace
}
