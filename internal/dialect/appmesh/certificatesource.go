package appmesh

import (
	"fmt"
	"path"
	"strings"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// acmDir has a folder for each mounted Secret of an ACM certificate or authority, in the sidecar.
const acmDir = "/var/run/secrets/appmesh.k8s.aws/"

// certificateSources finds the certificates and the trust that the objects of a namespace name.
type certificateSources struct {
	Settings
	namespace string
}

// certificate returns the certificate with one of the sources. If there is none, the path of the fault is below that of
// the certificate.
func (s certificateSources) certificate(file *api.TLSFileCertificate, sds *api.TLSSDSSecret,
	acm *api.ListenerTLSACMCertificate) (*model.Certificate, *fault) {
	switch {
	case file != nil:
		return &model.Certificate{ChainFile: file.CertificateChain, KeyFile: file.PrivateKey}, nil
	case sds != nil:
		secret, f := s.secret(sds.SecretName, s.identity)
		if f != nil {
			return nil, f
		}
		return &model.Certificate{Secret: secret}, nil
	case acm != nil:
		secret, ok := s.ACM.Certificates[acm.CertificateARN]
		if !ok {
			return nil, unmapped(".acm.certificateARN", "certificates", acm.CertificateARN)
		}
		return &model.Certificate{ChainFile: acmDir + secret + "/tls.crt", KeyFile: acmDir + secret + "/tls.key"}, nil
	}
	return nil, &fault{code: model.CodeInvalidField, text: "no certificate is set"}
}

// trust sets the trust of a validation to one of the sources. If there is none, the path of the fault is below that of
// the trust.
func (s certificateSources) trust(v *model.Validation, file *api.TLSFileTrust, sds *api.TLSSDSSecret,
	acm *api.TLSACMTrust) (f *fault) {
	switch {
	case file != nil:
		v.TrustFile = file.CertificateChain
	case sds != nil:
		name := sds.SecretName
		if name == s.trustDomain() {
			name = s.trustDomainID()
		}
		v.TrustSecret, f = s.secret(name, s.bundle)
	case acm != nil:
		v.TrustFile, f = s.authorities(acm.CertificateAuthorityARNs)
	default:
		f = &fault{code: model.CodeInvalidField, text: "no trust is set"}
	}
	return f
}

// authorities returns the trust file of ACM authorities. A sidecar reads the authorities of one Secret.
func (s certificateSources) authorities(arns []string) (string, *fault) {
	const at = ".acm.certificateAuthorityARNs"
	if len(arns) == 0 {
		return "", &fault{path: at, code: model.CodeInvalidField, text: "no ARN is set"}
	}
	var found string
	for i, arn := range arns {
		secret, ok := s.ACM.Authorities[arn]
		switch {
		case !ok:
			return "", unmapped(fmt.Sprintf("%s[%d]", at, i), "authorities", arn)
		case found != "" && found != secret:
			return "", &fault{path: at, code: model.CodeNoCertificate, text: fmt.Sprintf(
				"the ARNs are mapped to the Secrets %s and %s; put the certificates of all authorities into ca.crt of one Secret",
				found, secret)}
		}
		found = secret
	}
	return acmDir + found + "/ca.crt", nil
}

func unmapped(path, setting, arn string) *fault {
	return &fault{path: path, code: model.CodeNoCertificate, text: fmt.Sprintf(
		"no Secret is set for %s; add it to appmesh.acm.%s of the Helm values", arn, setting)}
}

// secret returns the secret with an SDS name. Names in the trust domain of the mesh are of its own authority, which has
// only some of them. The server on the socket has the others.
func (s certificateSources) secret(name string, problem func(path string) string) (model.Secret, *fault) {
	const at = ".sds.secretName"
	id, ok := model.TrustDomainID(name)
	switch {
	case name == "":
		return model.Secret{}, &fault{path: at, code: model.CodeInvalidField, text: "the name is empty"}
	case ok && id == s.trustDomainID():
		if text := problem(strings.TrimPrefix(name, id)); text != "" {
			return model.Secret{}, &fault{path: at, code: model.CodeNoCertificate, text: text + ", not " + name}
		}
		return model.Secret{Provider: model.ProviderMesh, Name: name}, nil
	case !s.SDS.Enabled:
		return model.Secret{}, &fault{path: at, code: model.CodeNoCertificate, text: fmt.Sprintf(
			"%s is not in %s, the trust domain of the mesh, and no SDS server is set for others; "+
				"if the nodes have one, set appmesh.sds.enabled of the Helm values", name, s.trustDomainID())}
	}
	return model.Secret{Provider: model.ProviderSocket, Name: name}, nil
}

// trustDomainID returns the ID of the trust domain of the mesh, which names its trust bundle too.
func (s Settings) trustDomainID() string { return "spiffe://" + s.trustDomain() }

// identity returns why no pod of the namespace has an identity with the path, or "".
func (s certificateSources) identity(path string) string {
	prefix := "/ns/" + s.namespace + "/sa/"
	if account, ok := strings.CutPrefix(path, prefix); !ok || account == "" || strings.Contains(account, "/") {
		return "the identities of the pods are " + s.trustDomainID() + prefix + "SERVICE_ACCOUNT"
	}
	return ""
}

// bundle returns why the name with the path is not that of the trust bundle of the mesh, or "".
func (s certificateSources) bundle(path string) string {
	if path != "" {
		return "the name of the trust bundle is " + s.trustDomainID()
	}
	return ""
}

// acmSecrets returns the mounts of the Secrets with files of the workload.
func acmSecrets(w model.Workload) []dialect.Mount {
	var out []dialect.Mount
	add := func(file string) {
		rest, ok := strings.CutPrefix(file, acmDir)
		secret, _ := path.Split(rest)
		if secret = strings.TrimSuffix(secret, "/"); !ok || secret == "" || strings.Contains(secret, "/") {
			return
		}
		for _, known := range out {
			if known.Name == secret {
				return
			}
		}
		out = append(out, dialect.Mount{Name: secret, Path: acmDir + secret})
	}
	use := func(c *model.Certificate, v *model.Validation) {
		if c != nil {
			add(c.ChainFile)
		}
		if v != nil {
			add(v.TrustFile)
		}
	}
	for _, l := range w.Listeners {
		if l.TLS != nil {
			use(l.TLS.Certificate, l.TLS.Validation)
		}
	}
	policies := []*model.ClientPolicy{w.ClientPolicy}
	for _, b := range w.Backends {
		policies = append(policies, b.ClientPolicy)
	}
	for _, p := range policies {
		if p != nil {
			use(p.Certificate, p.Validation)
		}
	}
	return out
}
