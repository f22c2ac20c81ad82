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
	sources := certificateSources{t.settings, object.Object().Namespace}
	policy, faults := sources.clientPolicy("spec.backendDefaults.clientPolicy.tls", defaults.ClientPolicy)
	for _, f := range faults {
		t.reportFault(object, f)
	}
	return policy
}

// clientPolicy returns a client policy. If its trust cannot be honored, an enforced policy accepts no certificate, and
// another one accepts each.
func (s certificateSources) clientPolicy(path string, p *api.ClientPolicy) (*model.ClientPolicy, []fault) {
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
	validation := &model.Validation{Names: alternativeNames(p.TLS.Validation.SubjectAlternativeNames)}
	trust := p.TLS.Validation.Trust
	if f := s.trust(validation, trust.File, trust.SDS, trust.ACM); f != nil {
		consequence := "; connections to backends fail"
		if out.Enforce {
			out.Validation = &model.Validation{}
		} else {
			consequence = "; the certificates of servers are not validated"
		}
		faults = append(faults, fault{path + ".validation.trust" + f.path, f.code, severity, f.text + consequence})
	} else {
		out.Validation = validation
	}
	if validation.TrustSecret.Provider == model.ProviderMesh && len(validation.Names) == 0 {
		faults = append(faults, fault{path + ".validation", model.CodeNoCertificate, severity,
			"the certificates of the mesh have no host names, which are required without subjectAlternativeNames; " +
				"set the SPIFFE IDs of the servers there"})
	}
	if c := p.TLS.Certificate; c != nil {
		certificate, f := s.certificate(c.File, c.SDS, nil)
		out.Certificate = certificate
		if f != nil {
			faults = append(faults,
				fault{path + ".certificate" + f.path, f.code, severity, f.text + "; servers get no certificate"})
		}
	}
	return out, faults
}

func hasTLS(p *api.ClientPolicy) bool { return p != nil && p.TLS != nil }
