package appmesh

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// refuse gives a dialect.Refusal of the findings, nil if there are none.
func refuse(findings []model.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	return &dialect.Refusal{Findings: findings}
}

// ownFaults are the errors that an object carries in itself. They are found by translating it in a world where it is
// alone with a Mesh that takes it: there is no second list of rules. What depends on other objects, on settings or on a
// driver's abilities has other codes, and what is served all the same is no error.
func ownFaults(object client.Object) []model.Finding {
	o := object.DeepCopyObject().(client.Object)
	if o.GetName() == "" {
		o.SetName(o.GetGenerateName() + "xxxxx") // the API server makes a name of this length after admission
	}
	o.SetDeletionTimestamp(nil)
	_, findings := Dialect{}.Translate(withMesh(o))
	self := originOf(kindOf(o), o).Object
	var out []model.Finding
	for _, f := range findings {
		if f.Object == self && f.Code == model.CodeInvalidField && f.Severity == model.Error {
			out = append(out, f)
		}
	}
	return out
}

// withMesh gives an object, changed to belong to them, with the Mesh and, for a GatewayRoute, the VirtualGateway that
// it needs to be looked at.
func withMesh(o client.Object) []client.Object {
	world := []client.Object{o}
	ref := meshRefField(o)
	if ref == nil {
		return world
	}
	mesh := &api.Mesh{
		ObjectMeta: metav1.ObjectMeta{Name: "mesh", UID: "mesh"},
		Spec:       api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
	}
	*ref = &api.MeshReference{Name: mesh.Name, UID: mesh.UID}
	world = append(world, mesh)
	if route, is := o.(*api.GatewayRoute); is {
		world = append(world, gatewayOf(route))
	}
	return world
}

// gatewayOf makes a VirtualGateway with the one listener that a GatewayRoute asks for.
func gatewayOf(route *api.GatewayRoute) *api.VirtualGateway {
	port, protocol := (*int64)(nil), api.GatewayPortProtocol("http")
	switch s := route.Spec; {
	case s.HTTPRoute != nil:
		port = s.HTTPRoute.Match.Port
	case s.HTTP2Route != nil:
		port, protocol = s.HTTP2Route.Match.Port, "http2"
	case s.GRPCRoute != nil:
		port, protocol = s.GRPCRoute.Match.Port, "grpc"
	}
	mapping := api.GatewayPortMapping{Port: 8080, Protocol: protocol}
	if p := deref(port); p > 0 && p <= 65535 {
		mapping.Port = api.PortNumber(p)
	}
	gateway := &api.VirtualGateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: route.Namespace, Name: "gateway", UID: "gateway"},
		Spec: api.VirtualGatewaySpec{
			NamespaceSelector: &metav1.LabelSelector{}, MeshRef: route.Spec.MeshRef,
			Listeners: []api.VirtualGatewayListener{{PortMapping: mapping}},
		},
	}
	route.Spec.VirtualGatewayRef = &api.VirtualGatewayReference{
		Namespace: new(route.Namespace), Name: gateway.Name, UID: gateway.UID,
	}
	return gateway
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// addedFaults gives the faults of an object that it did not have before. A fault that only moved, because elements of
// its list came or went, is not new.
func addedFaults(before, after []model.Finding) []model.Finding {
	type fault struct {
		path, text string
		code       model.Code
	}
	of := func(f model.Finding) fault {
		return fault{indexes.ReplaceAllString(f.Path, "[]"), indexes.ReplaceAllString(f.Text, "[]"), f.Code}
	}
	had := map[fault]int{}
	for _, f := range before {
		had[of(f)]++
	}
	var out []model.Finding
	for _, f := range after {
		if had[of(f)]--; had[of(f)] < 0 {
			out = append(out, f)
		}
	}
	return out
}
