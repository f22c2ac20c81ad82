package lint

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

// admit gives the objects as admission leaves them, and findings about those that it refuses. They stay: what else is wrong with them is
// worth knowing at once. Objects that came out of a cluster, with their unique ids, have their defaults already.
func admit(set *manifest.Set) ([]client.Object, []model.Finding) {
	var out []client.Object
	var refused []model.Finding
	around := appmesh.Surroundings{}
	labels := map[string]map[string]string{}
	for _, o := range set.Objects {
		o = o.DeepCopyObject().(client.Object)
		out = append(out, o)
		switch o := o.(type) {
		case *corev1.Namespace:
			labels[o.Name] = o.Labels
		case *api.Mesh:
			around.Meshes = append(around.Meshes, o)
		case *api.VirtualGateway:
			around.Gateways = append(around.Gateways, o)
		}
	}
	// Objects look at Meshes and GatewayRoutes at VirtualGateways, as they are after their own admission.
	rank := func(o client.Object) int {
		switch o.(type) {
		case *api.Mesh:
			return 0
		case *api.GatewayRoute:
			return 2
		}
		return 1
	}
	ordered := slices.Clone(out)
	slices.SortStableFunc(ordered, func(a, b client.Object) int { return rank(a) - rank(b) })
	for _, o := range ordered {
		ref, ours := refOf(o)
		if !ours {
			continue
		}
		refuse := func(err error) {
			var refusal *appmesh.Refusal
			switch {
			case errors.As(err, &refusal): // in its own words, field by field
				refused = append(refused, refusal.Findings...)
			case err != nil:
				refused = append(refused, model.NewFinding(model.Origin{Object: ref}, model.CodeRefused, err.Error()))
			}
		}
		if o.GetUID() == "" {
			around.NamespaceLabels = labels[o.GetNamespace()]
			refuse(appmesh.DefaultCreate(o, around))
		}
		refuse(appmesh.ValidateCreate(o))
	}
	return out, refused
}

// explained tells whether a refusal has been told better: with the field, and what to do.
func explained(refusal model.Finding, findings []model.Finding) bool {
	return slices.ContainsFunc(findings, func(f model.Finding) bool {
		return f.Object == refusal.Object && (f.Code == model.CodeNoMesh || f.Code == model.CodeManyMeshes)
	})
}

// refOf names an object of App Mesh.
func refOf(o client.Object) (model.ObjectRef, bool) {
	kind := ""
	switch o.(type) {
	case *api.Mesh:
		kind = api.KindMesh
	case *api.VirtualNode:
		kind = api.KindVirtualNode
	case *api.VirtualService:
		kind = api.KindVirtualService
	case *api.VirtualRouter:
		kind = api.KindVirtualRouter
	case *api.VirtualGateway:
		kind = api.KindVirtualGateway
	case *api.GatewayRoute:
		kind = api.KindGatewayRoute
	case *api.BackendGroup:
		kind = api.KindBackendGroup
	}
	return model.ObjectRef{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}, kind != ""
}
