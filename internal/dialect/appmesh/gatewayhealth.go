package appmesh

import (
	"cmp"
	"fmt"
	"strings"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// GatewayHealthCheck is what the health checks of VirtualGateways decide.
type GatewayHealthCheck string

const (
	// ReportHealth makes the results metrics of the gateway. In App Mesh, they had no effect on traffic either.
	ReportHealth GatewayHealthCheck = "Report"
	// ReadinessHealth makes a pod not ready while one of its listeners fails its check.
	ReadinessHealth GatewayHealthCheck = "Readiness"
)

// check returns an error for an unknown value.
func (g GatewayHealthCheck) check() error {
	if g != ReportHealth && g != ReadinessHealth {
		return fmt.Errorf("gatewayHealthCheck: %q is not one of %s and %s", g, ReportHealth, ReadinessHealth)
	}
	return nil
}

// listenerHealthCheck returns the health check of a listener of a VirtualGateway. It returns nil if there is none, or
// one that cannot be performed.
func (t *gatewayRule) listenerHealthCheck(l model.Listener, policy *model.ClientPolicy,
	h *api.VirtualGatewayHealthCheck) *model.ListenerHealthCheck {
	if h == nil {
		return nil
	}
	at := l.Origin.At(l.Origin.Path + ".healthCheck")
	check := &api.HealthCheck{
		Protocol: api.PortProtocol(h.Protocol), Path: h.Path, IntervalMillis: h.IntervalMillis,
		TimeoutMillis: h.TimeoutMillis, UnhealthyThreshold: h.UnhealthyThreshold,
		HealthyThreshold: cmp.Or(deref(h.HealthyThreshold), minCheckThreshold),
	}
	valid := h.Port == nil || uint16(*h.Port) == l.Port // checkGatewayLimits reports another port
	switch h.Protocol {
	case "grpc", "http", "http2":
	default:
		valid = false
		t.report(at.At(at.Path+".protocol"), model.CodeInvalidField, "%q is not one of grpc, http and http2", h.Protocol)
	}
	if valid = t.checkRanges(at, check) && valid; !valid {
		return nil
	}
	tls, ok := t.checkTLS(l, policy)
	if !ok {
		t.warn(at, model.CodeInvalidField, "has no effect: the listener requires a certificate of clients that is issued by %s%s, "+
			"and the gateway has no such certificate; use secrets of that authority for the certificate of the listener, "+
			"or check the gateway from outside", l.TLS.Validation.Trust(), oneOf(l.TLS.Validation.Names))
		return nil
	}
	return &model.ListenerHealthCheck{
		HealthCheck: *newHealthCheck(check, fmt.Sprintf("localhost:%d", l.Port)), TLS: tls,
		Readiness: t.settings.GatewayHealthCheck == ReadinessHealth,
	}
}

func oneOf(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " with one of the names " + strings.Join(names, ", ")
}

// checkTLS returns how a gateway connects to its own listener. It uses TLS if the listener serves it, and accepts each
// certificate. For a listener that requires certificates of clients it presents its certificate of the listener, that
// for its backends, or its identity of the mesh. It reports false if the listener accepts neither, as far as is known.
func (t *gatewayRule) checkTLS(l model.Listener, policy *model.ClientPolicy) (*model.ClientTLS, bool) {
	permissive := l.TLS != nil && l.TLS.Mode == model.TLSPermissive
	switch {
	case l.TLS == nil, permissive && l.TLS.Certificate == nil:
		return nil, true
	case l.TLS.Validation == nil:
		return &model.ClientTLS{}, true
	}
	own := []*model.Certificate{l.TLS.Certificate}
	if policy != nil && policy.Certificate != nil {
		own = append(own, policy.Certificate)
	}
	own = append(own, t.meshCertificates(l)...)
	read := func(c model.Certificate) model.Handshake { return c.Secret.Content() }
	for _, c := range own {
		tls := &model.ClientTLS{Certificate: c}
		if ok, _ := model.Connect(tls, l.TLS, read); ok {
			return tls, true
		}
	}
	return nil, permissive
}

// meshCertificates returns the certificates with which the mesh issues identities to the pods of a gateway, if the
// listener trusts its authority. Which one a pod has depends on its service account.
func (t *gatewayRule) meshCertificates(l model.Listener) []*model.Certificate {
	var out []*model.Certificate
	v := l.TLS.Validation
	if v.TrustSecret.Provider != model.ProviderMesh {
		return nil
	}
	pods := t.settings.identities(l.Origin.Object().Namespace).prefix
	for _, name := range v.Names {
		if strings.HasPrefix(name, pods) {
			out = append(out, &model.Certificate{Secret: model.Secret{Provider: model.ProviderMesh, Name: name}})
		}
	}
	if len(v.Names) == 0 {
		out = append(out, &model.Certificate{Secret: model.Secret{Provider: model.ProviderMesh, Name: pods}})
	}
	return out
}
