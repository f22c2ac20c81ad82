package explain

import (
	"slices"

	"anymesh.dev/anymesh/model"
)

// validCertificate is the step of the interpreter about a certificate that satisfies a validation.
const validCertificate = "the certificate is valid"

// inboundOf returns the decision of the sidecar of a destination about a request of a client with the TLS of its
// connections; nil means without TLS. The files of certificates are not read: a certificate is assumed to satisfy the
// validation of the peer.
func inboundOf(there *model.View, r model.Request, client *model.ClientTLS) model.Decision {
	l := listener(there, r.Port)
	if client == nil || l == nil {
		return there.DecideInbound(r)
	}
	own := model.Handshake{}
	if client.Certificate != nil && l.TLS != nil {
		own = satisfying(l.TLS.Validation)
	}
	r.TLS = &own
	d := there.DecideInbound(r)
	d.Steps = slices.Clone(d.Steps)
	for i, step := range d.Steps {
		if step.Text == validCertificate {
			d.Steps[i].Text = "the certificate of the client is assumed to be valid: its file is not read"
		}
	}
	if l.TLS == nil || d.Outcome == model.Refused {
		return d
	}
	first := true
	accepted, why := model.Connect(client, l.TLS, func(model.Certificate) model.Handshake {
		if first && client.Certificate != nil {
			first = false
			return own
		}
		return satisfying(client.Validation)
	})
	if !accepted {
		return model.Decision{
			Outcome: model.Refused, Request: r,
			Steps: []model.Step{{Text: "the client refuses the handshake: " + why, Origin: l.TLS.Origin}},
		}
	}
	if client.Validation != nil {
		d.Steps = slices.Insert(d.Steps, 1, model.Step{
			Text:   "the client validates the certificate, which is assumed to be valid: its file is not read",
			Origin: l.TLS.Origin,
		})
	}
	return d
}

// satisfying returns the handshake of a certificate that satisfies a validation, which may be nil.
func satisfying(v *model.Validation) model.Handshake {
	if v == nil {
		return model.Handshake{}
	}
	return model.Handshake{Authority: v.TrustFile, Names: v.Names}
}
