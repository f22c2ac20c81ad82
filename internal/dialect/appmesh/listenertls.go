package appmesh

import (
	"slices"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// listenerTLS returns the TLS of a listener. If a part of it cannot be honored, no handshake succeeds: then a STRICT
// listener accepts no connection, and a PERMISSIVE one those without TLS.
func (t *translator) listenerTLS(at model.Origin, l *api.ListenerTLS) *model.ServerTLS {
	if l == nil || l.Mode == api.TLSDisabled {
		return nil
	}
	out := &model.ServerTLS{Mode: model.TLSStrict, Origin: at}
	missing := t.refuse
	if l.Mode == api.TLSPermissive {
		out.Mode, missing = model.TLSPermissive, t.warn
	}
	const consequence = "the listener accepts no TLS connections"
	if file := l.Certificate.File; file != nil {
		out.Certificate = &model.Certificate{ChainFile: file.CertificateChain, KeyFile: file.PrivateKey}
	} else {
		source := ".certificate.acm"
		if l.Certificate.SDS != nil {
			source = ".certificate.sds"
		}
		missing(at.At(at.Path+source), model.CodeFieldNotImplemented,
			"only certificates in files are implemented; "+consequence)
	}
	if l.Validation == nil {
		return out
	}
	if trust := l.Validation.Trust.File; trust != nil {
		out.Validation = &model.Validation{
			TrustFile: trust.CertificateChain, Names: alternativeNames(l.Validation.SubjectAlternativeNames),
		}
	} else {
		out.Certificate = nil
		missing(at.At(at.Path+".validation.trust"), model.CodeFieldNotImplemented,
			"only trust in files is implemented; "+consequence)
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
