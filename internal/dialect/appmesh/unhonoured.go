package appmesh

import (
	"fmt"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// ask is a field that asks for something that Anymesh does not do yet.
type ask struct {
	path string
	set  bool
}

// unhonoured reports the fields that are set.
func (t *translator) unhonoured(at model.Origin, asks []ask) {
	for _, a := range asks {
		if a.set {
			t.report(at.At(a.path), model.CodeNotHonoured, "this field is not honoured yet")
		}
	}
}

func unhonouredInMesh(o *api.Mesh) []ask {
	return []ask{{"spec.meshOwner", o.Spec.MeshOwner != nil}}
}

func unhonouredInNode(o *api.VirtualNode) []ask {
	asks := []ask{
		{"spec.backendDefaults.clientPolicy.tls", o.Spec.BackendDefaults != nil && asksTLS(o.Spec.BackendDefaults.ClientPolicy)},
		{"spec.backendGroups", len(o.Spec.BackendGroups) > 0},
		{"spec.logging.accessLog", o.Spec.Logging != nil && o.Spec.Logging.AccessLog != nil},
	}
	for i, l := range o.Spec.Listeners {
		path := fmt.Sprintf("spec.listeners[%d].", i)
		asks = append(asks,
			ask{path + "connectionPool", l.ConnectionPool != nil},
			ask{path + "healthCheck", l.HealthCheck != nil},
			ask{path + "outlierDetection", l.OutlierDetection != nil},
			ask{path + "tls", l.TLS != nil && l.TLS.Mode != api.TLSDisabled})
	}
	for i, b := range o.Spec.Backends {
		asks = append(asks, ask{fmt.Sprintf("spec.backends[%d].virtualService.clientPolicy.tls", i), asksTLS(b.VirtualService.ClientPolicy)})
	}
	return asks
}

func asksTLS(p *api.ClientPolicy) bool { return p != nil && p.TLS != nil }

// unhonouredKinds reports the objects of kinds that mean nothing yet, each with one finding about its whole spec.
func (t *translator) unhonouredKinds() {
	const text = "objects of kind %s are not served yet"
	for _, o := range t.in.gateways {
		t.report(originOf(api.KindVirtualGateway, o).At("spec"), model.CodeNotHonoured, text, api.KindVirtualGateway)
	}
	for _, o := range t.in.gwRoutes {
		t.report(originOf(api.KindGatewayRoute, o).At("spec"), model.CodeNotHonoured, text, api.KindGatewayRoute)
	}
	for _, o := range t.in.groups {
		t.report(originOf(api.KindBackendGroup, o).At("spec"), model.CodeNotHonoured, text, api.KindBackendGroup)
	}
}
