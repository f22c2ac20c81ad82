package appmesh

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// refuse returns a dialect.Refusal of the findings, or nil if there are none.
func refuse(findings []model.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	return &dialect.Refusal{Findings: findings}
}

// ownErrors returns the errors of an object that are independent of other objects. It translates the object with only
// a Mesh that selects it, so that there is no second list of rules. Findings that depend on other objects, settings
// or drivers have other codes, and fields that are only ignored have warnings.
func ownErrors(object client.Object) []model.Finding {
	return Dialect{}.errorsOf(object, model.CodeInvalidField)
}

// warnings returns the errors of an admitted object because of certificates and trust that no source of the mesh has:
// what they protect is not served.
func (d Dialect) warnings(object client.Object) []string {
	var out []string
	for _, f := range d.errorsOf(object, model.CodeNoCertificate) {
		out = append(out, f.Path+": "+f.Text)
	}
	return out
}

// errorsOf returns the errors of an object with a code, without other objects.
func (d Dialect) errorsOf(object client.Object, code model.Code) []model.Finding {
	o := object.DeepCopyObject().(client.Object)
	if o.GetName() == "" {
		o.SetName(o.GetGenerateName() + "xxxxx") // the API server adds a suffix of this length after admission
	}
	o.SetDeletionTimestamp(nil)
	_, findings := d.Translate(withMesh(o))
	self := originOf(kindOf(o), o).Object()
	var out []model.Finding
	for _, f := range findings {
		if f.Object == self && f.Code == code && f.Severity == model.Error {
			out = append(out, f)
		}
	}
	return out
}

// withMesh returns the object as a member of a new Mesh, that Mesh and, for a GatewayRoute, a VirtualGateway.
func withMesh(o client.Object) []client.Object {
	objects := []client.Object{o}
	ref := meshRefField(o)
	if ref == nil {
		return objects
	}
	mesh := &api.Mesh{
		ObjectMeta: metav1.ObjectMeta{Name: "mesh", UID: "mesh"},
		Spec:       api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
	}
	*ref = &api.MeshReference{Name: mesh.Name, UID: mesh.UID}
	objects = append(objects, mesh)
	if route, is := o.(*api.GatewayRoute); is {
		objects = append(objects, gatewayOf(route))
	}
	return objects
}

// gatewayOf returns a VirtualGateway with the listener that a GatewayRoute requires.
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

// addedErrors returns the errors that an update adds. List indexes are ignored, so that an error of a moved list
// element is not new.
func addedErrors(before, after []model.Finding) []model.Finding {
	type key struct {
		path, text string
		code       model.Code
	}
	of := func(f model.Finding) key {
		return key{indexes.ReplaceAllString(f.Path, "[]"), indexes.ReplaceAllString(f.Text, "[]"), f.Code}
	}
	existing := map[key]int{}
	for _, f := range before {
		existing[of(f)]++
	}
	var out []model.Finding
	for _, f := range after {
		if existing[of(f)]--; existing[of(f)] < 0 {
			out = append(out, f)
		}
	}
	return out
}
