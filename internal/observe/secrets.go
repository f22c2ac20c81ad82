package observe

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/sds"
)

// sdsSocket is the socket of the server of the secret discovery service.
const sdsSocket = "/mnt/agent.sock"

// unknownSecret is the end of the names of secrets that the server does not have.
const unknownSecret = "/unknown"

// serveSecrets gives their secrets to the sidecars of views: those of the mesh are files, as the agent writes them,
// and a server on a socket has the others. It returns the socket, or "" if there is none.
func (c *certificates) serveSecrets(views ...*model.View) (socket string, err error) {
	var uses []use
	for _, v := range views {
		uses = append(uses, usesOf(v.Workload)...)
		for _, d := range v.Destinations {
			if d.TLS != nil {
				uses = append(uses, use{d.TLS.Certificate, d.TLS.Validation})
			}
		}
	}
	var own []model.Secret
	var served []*tlsv3.Secret
	add := func(s model.Secret, load func(name string) (*tlsv3.Secret, error)) error {
		switch s.Provider {
		case model.ProviderMesh:
			own = append(own, s)
		case model.ProviderSocket:
			if strings.HasSuffix(s.Name, unknownSecret) {
				return nil
			}
			secret, err := load(s.Name)
			served = append(served, secret)
			return err
		}
		return nil
	}
	for _, u := range uses {
		if u.certificate != nil {
			if err := add(u.certificate.Secret, c.certificateSecret); err != nil {
				return "", err
			}
		}
		if u.validation != nil {
			if err := add(u.validation.TrustSecret, c.trustSecret); err != nil {
				return "", err
			}
		}
	}
	if err := c.writeIdentity(own); err != nil || len(served) == 0 {
		return "", err
	}
	server, err := sds.Listen(sdsSocket) // until the process ends
	if err != nil {
		return "", err
	}
	server.Set(served...)
	return sdsSocket, nil
}

func (c *certificates) certificateSecret(name string) (*tlsv3.Secret, error) {
	issued, err := c.issue(name)
	if err != nil {
		return nil, err
	}
	chain, key, err := encodePair(issued)
	return sds.Certificate(name, chain, key), err
}

func (c *certificates) trustSecret(name string) (*tlsv3.Secret, error) {
	authority, err := c.authority(name)
	if err != nil {
		return nil, err
	}
	return sds.Trust(name, encode("CERTIFICATE", authority.Raw)), nil
}

// writeIdentity writes the identity and the trust bundle of a pod, where its agent writes them. All pods in the
// namespaces of this process have one identity.
func (c *certificates) writeIdentity(secrets []model.Secret) error {
	if len(secrets) == 0 {
		return nil
	}
	if err := mountRun(); err != nil {
		return err
	}
	// A pod has an identity, whether its view names it or not.
	if !slices.ContainsFunc(secrets, func(s model.Secret) bool { return identifies(s.Name) }) {
		domain, _ := model.TrustDomainID(secrets[0].Name)
		secrets = append(secrets, model.Secret{Name: domain + "/ns/pod/sa/pod"})
	}
	identity := ""
	for _, s := range secrets {
		domain, _ := model.TrustDomainID(s.Name)
		authority, err := c.authority(domain)
		if err != nil {
			return err
		}
		if err := writePEM(filepath.Join(sidecar.CertificatesDir, "ca.crt"), "CERTIFICATE", authority.Raw); err != nil {
			return err
		}
		switch {
		case !identifies(s.Name) || s.Name == identity:
			continue
		case identity != "":
			return fmt.Errorf("there are two identities: %s and %s", identity, s.Name)
		}
		identity = s.Name
		issued, err := c.issue(identity)
		if err != nil {
			return err
		}
		if err := writePair(filepath.Join(sidecar.CertificatesDir, "tls.crt"), filepath.Join(sidecar.CertificatesDir, "tls.key"),
			issued); err != nil {
			return err
		}
	}
	return nil
}

// identifies reports whether a SPIFFE ID is more than a trust domain.
func identifies(id string) bool {
	domain, _ := model.TrustDomainID(id)
	return id != domain
}
