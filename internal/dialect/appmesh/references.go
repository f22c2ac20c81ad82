package appmesh

import (
	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

func nodeReference(at model.Origin, ref *api.VirtualNodeReference, arn *string) reference {
	r := reference{at: at, refField: "virtualNodeRef", arnField: "virtualNodeARN", arnType: "virtualNode", arn: arn}
	if ref != nil {
		r.hasName, r.namespace, r.name = true, deref(ref.Namespace), ref.Name
	}
	return r
}

func serviceReference(at model.Origin, ref *api.VirtualServiceReference, arn *string) reference {
	r := reference{
		at: at, refField: "virtualServiceRef", arnField: "virtualServiceARN", arnType: "virtualService", arn: arn,
	}
	if ref != nil {
		r.hasName, r.namespace, r.name = true, deref(ref.Namespace), ref.Name
	}
	return r
}

func routerReference(at model.Origin, ref *api.VirtualRouterReference, arn *string) reference {
	r := reference{
		at: at, refField: "virtualRouterRef", arnField: "virtualRouterARN", arnType: "virtualRouter", arn: arn,
	}
	if ref != nil {
		r.hasName, r.namespace, r.name = true, deref(ref.Namespace), ref.Name
	}
	return r
}
