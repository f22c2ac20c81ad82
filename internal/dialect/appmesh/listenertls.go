package appmesh

import (
	"slices"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// nodeTLS returns the TLS of a listener of a VirtualNode, whose trust cannot be of ACM.
func (t *translator) nodeTLS(at model.Origin, l *api.ListenerTLS) *model.ServerTLS {
	if l == nil {
		return nil
	}
	out := &api.VirtualGatewayListenerTLS{Mode: l.Mode, Certificate: l.Certificate}
	if v := l.Validation; v != nil {
		out.Validation = &api.TLSValidation{
			SubjectAlternativeNames: v.SubjectAlternativeNames, Trust: api.TLSTrust{File: v.Trust.File, SDS: v.Trust.SDS},
		}
	}
	return t.listenerTLS(at, out)
}

// listenerTLS returns the TLS of a listener. If a part of it cannot be honored, no handshake succeeds: then a STRICT
// listener accepts no connection, and a PERMISSIVE one those without TLS.
func (t *translator) listenerTLS(at model.Origin, l *api.VirtualGatewayListenerTLS) *model.ServerTLS {
	if l == nil || l.Mode == api.TLSDisabled {
		return nil
	}
	out := &model.ServerTLS{Mode: model.TLSStrict, Origin: at}
	severity := model.Error
	if l.Mode == api.TLSPermissive {
		out.Mode, severity = model.TLSPermissive, model.Warning
	}
	missing := func(path string, f *fault) {
		out.Certificate = nil
		t.reportFault(at, fault{
			at.Path + path + f.path, f.code, severity, f.text + "; the listener accepts no TLS connections",
		})
	}
	sources := certificateSources{t.settings, at.Object().Namespace}
	certificate, f := sources.certificate(l.Certificate.File, l.Certificate.SDS, l.Certificate.ACM)
	out.Certificate = certificate
	if f != nil {
		missing(".certificate", f)
	}
	if l.Validation == nil {
		return out
	}
	validation := &model.Validation{Names: alternativeNames(l.Validation.SubjectAlternativeNames)}
	trust := l.Validation.Trust
	if f := sources.trust(validation, trust.File, trust.SDS, trust.ACM); f != nil {
		missing(".validation.trust", f)
	} else if out.Certificate != nil {
		out.Validation = validation
	}
	return out
}

// alternativeNames returns the accepted names, sorted.
func alternativeNames(n *api.SubjectAlternativeNames) []string {
	if n == nil {
		return nil
	}
	out := slices.Sorted(slices.Values(n.Match.Exact))
	return slices.Compact(out)
}

// originatedTLS returns the TLS of clients without a policy: they use TLS if the listener serves it, and accept each
// certificate.
func originatedTLS(l model.Listener, d model.Discovery) *model.ClientTLS {
	if l.TLS == nil {
		return nil
	}
	return &model.ClientTLS{ServerName: d.ServerName()}
}
