package appmesh

import (
	"slices"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// backendDefaults returns the client policy of backends that have none.
func (t *translator) backendDefaults(object model.Origin, defaults *api.BackendDefaults) *model.ClientPolicy {
	if defaults == nil {
		return nil
	}
	policy, faults := clientPolicy("spec.backendDefaults.clientPolicy.tls", defaults.ClientPolicy)
	for _, f := range faults {
		t.reportFault(object, f)
	}
	return policy
}

// clientPolicy returns a client policy. If its trust cannot be honored, an enforced policy accepts no certificate, and
// another one accepts each.
func clientPolicy(path string, p *api.ClientPolicy) (*model.ClientPolicy, []fault) {
	if !hasTLS(p) {
		return nil, nil
	}
	out := &model.ClientPolicy{Enforce: p.TLS.Enforce == nil || *p.TLS.Enforce}
	severity := model.Error
	if !out.Enforce {
		severity = model.Warning
	}
	for _, port := range p.TLS.Ports {
		out.Ports = append(out.Ports, uint16(port))
	}
	slices.Sort(out.Ports)
	var faults []fault
	if trust := p.TLS.Validation.Trust; trust.File != nil {
		out.Validation = &model.Validation{
			TrustFile: trust.File.CertificateChain, Names: alternativeNames(p.TLS.Validation.SubjectAlternativeNames),
		}
	} else {
		consequence := "connections to backends fail"
		if out.Enforce {
			out.Validation = &model.Validation{}
		} else {
			consequence = "the certificates of servers are not validated"
		}
		faults = append(faults, fault{path + ".validation.trust", model.CodeFieldNotImplemented, severity,
			"only trust in files is implemented; " + consequence})
	}
	switch c := p.TLS.Certificate; {
	case c == nil:
	case c.File != nil:
		out.Certificate = &model.Certificate{ChainFile: c.File.CertificateChain, KeyFile: c.File.PrivateKey}
	default:
		faults = append(faults, fault{path + ".certificate.sds", model.CodeFieldNotImplemented, severity,
			"only certificates in files are implemented; servers get no certificate"})
	}
	return out, faults
}

func hasTLS(p *api.ClientPolicy) bool { return p != nil && p.TLS != nil }
