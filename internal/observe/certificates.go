package observe

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/model"
)

// trustFile is the name of the certificate of the authority of a folder.
const trustFile = "ca.pem"

// certificates are the certificates of a case, by file name or SPIFFE ID. The authority of a folder issues all
// certificates in it, and the authority of a trust domain those with its IDs.
type certificates struct {
	authorities map[string]*x509.Certificate
	keys        map[string]*ecdsa.PrivateKey
	issued      map[string]tls.Certificate
	serial      int64
}

// mountCertificates creates the certificates of a model and of requests below the folder /mnt, which becomes a file
// system of this process.
func mountCertificates(m *model.Model, lines []Line) (*certificates, error) {
	c := &certificates{map[string]*x509.Certificate{}, map[string]*ecdsa.PrivateKey{}, map[string]tls.Certificate{}, 0}
	if err := unix.Mount("conformance", "/mnt", "tmpfs", 0, "mode=0755"); err != nil {
		return nil, &os.PathError{Op: "mount", Path: "/mnt", Err: err}
	}
	if err := c.alias(m.Meshes); err != nil {
		return nil, err
	}
	for _, w := range m.Workloads {
		for _, u := range usesOf(w) {
			if err := c.write(u.certificate, u.validation); err != nil {
				return nil, fmt.Errorf("%s: %w", w.Key, err)
			}
		}
	}
	for _, l := range lines {
		if l.Certificate == "" {
			continue
		}
		if _, err := c.issue(l.Certificate); err != nil {
			return nil, fmt.Errorf("%d: %w", l.Number, err)
		}
	}
	return c, nil
}

// use is a certificate and a validation of a workload. Each may be nil.
type use struct {
	certificate *model.Certificate
	validation  *model.Validation
}

// usesOf returns the certificates and validations of a workload.
func usesOf(w model.Workload) []use {
	var out []use
	for _, l := range w.Listeners {
		if l.TLS != nil {
			out = append(out, use{l.TLS.Certificate, l.TLS.Validation})
		}
	}
	policies := []*model.ClientPolicy{w.ClientPolicy}
	for _, b := range w.Backends {
		policies = append(policies, b.ClientPolicy)
	}
	for _, p := range policies {
		if p != nil {
			out = append(out, use{p.Certificate, p.Validation})
		}
	}
	return out
}

// write writes the files of a certificate and of a validation. Each may be nil.
func (c *certificates) write(own *model.Certificate, v *model.Validation) error {
	if v != nil && v.TrustFile != "" {
		if filepath.Base(v.TrustFile) != trustFile {
			return fmt.Errorf("%s: the trust of a folder is %s", v.TrustFile, trustFile)
		}
		dir := filepath.Dir(v.TrustFile)
		if !strings.HasPrefix(dir, "/mnt/") {
			return fmt.Errorf("%s: files of cases are in folders of /mnt", dir)
		}
		authority, err := c.authority(dir)
		if err != nil {
			return err
		}
		if err := writePEM(v.TrustFile, "CERTIFICATE", authority.Raw); err != nil {
			return err
		}
	}
	if own == nil || own.ChainFile == "" {
		return nil
	}
	issued, err := c.issue(own.ChainFile)
	if err != nil {
		return err
	}
	return writePair(own.ChainFile, own.KeyFile, issued)
}

// alias makes the authority of a mesh that of its other trust domains, too.
func (c *certificates) alias(meshes []model.Mesh) error {
	const scheme = "spiffe://"
	for _, mesh := range meshes {
		for _, alias := range mesh.TrustDomainAliases {
			own, err := c.authority(scheme + mesh.TrustDomain)
			if err != nil {
				return err
			}
			c.authorities[scheme+alias], c.keys[scheme+alias] = own, c.keys[scheme+mesh.TrustDomain]
		}
	}
	return nil
}

// authority returns the authority with a name: a folder or the ID of a trust domain.
func (c *certificates) authority(name string) (*x509.Certificate, error) {
	if known := c.authorities[name]; known != nil {
		return known, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := c.template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	c.keys[name] = key
	c.authorities[name], err = x509.ParseCertificate(der)
	return c.authorities[name], err
}

// issue returns the certificate with a file name or SPIFFE ID. The name in the former is that of the file without
// ".pem".
func (c *certificates) issue(name string) (tls.Certificate, error) {
	if known, ok := c.issued[name]; ok {
		return known, nil
	}
	template := c.template(name)
	by, isID := model.TrustDomainID(name)
	if isID {
		id, err := url.Parse(name)
		if err != nil {
			return tls.Certificate{}, err
		}
		template.URIs = []*url.URL{id}
		if identity, known := model.ParseIdentity(name); known {
			template.DNSNames = []string{identity.DNSName()}
		}
	} else {
		by, template.DNSNames = filepath.Dir(name), contentOf(name).Names
	}
	authority, err := c.authority(by)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), c.keys[by])
	if err != nil {
		return tls.Certificate{}, err
	}
	c.issued[name] = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return c.issued[name], nil
}

// nameOf returns the file name or SPIFFE ID of a certificate.
func nameOf(c model.Certificate) string { return cmp.Or(c.Secret.Name, c.ChainFile) }

// contentOf returns what is in the certificate with a file name or SPIFFE ID.
func contentOf(name string) model.Handshake {
	if _, isID := model.TrustDomainID(name); isID {
		return model.Secret{Name: name}.Content()
	}
	return model.Handshake{
		Authority: filepath.Join(filepath.Dir(name), trustFile),
		Names:     []string{strings.TrimSuffix(filepath.Base(name), ".pem")},
	}
}

// connecting returns the line with the address that the agent of the workload answers for the host of a stream, and
// with the destinations of the view to which connections fail.
func (l Line) connecting(ix *model.Index, v *model.View) Line {
	for _, h := range v.Hosts {
		if h.Name == l.Host && l.Request.Protocol == model.TCP && !l.Into && len(h.Addresses) > 0 {
			l.Request.Address = h.Addresses[0]
		}
	}
	for _, d := range v.Destinations {
		server := serverTLS(ix, d)
		read := func(c model.Certificate) model.Handshake { return contentOf(nameOf(c)) }
		if ok, _ := model.Connect(d.TLS, server, read); !ok {
			l.Unreachable = append(l.Unreachable, d.Name)
		}
	}
	return l
}

// unreachable reports whether a target of the decision is unreachable.
func (l Line) unreachable(d model.Decision) bool {
	return slices.ContainsFunc(d.Targets, func(t model.WeightedDestination) bool {
		return slices.Contains(l.Unreachable, t.Destination)
	})
}

func (c *certificates) template(name string) *x509.Certificate {
	c.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(c.serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

// encodePair returns a certificate and its key in PEM.
func encodePair(c tls.Certificate) (chain, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	return encode("CERTIFICATE", c.Certificate[0]), encode("PRIVATE KEY", der), err
}

func writePair(chainFile, keyFile string, c tls.Certificate) error {
	chain, key, err := encodePair(c)
	if err != nil {
		return err
	}
	return errors.Join(writeFile(chainFile, chain), writeFile(keyFile, key))
}

func writePEM(file, kind string, der []byte) error { return writeFile(file, encode(kind, der)) }

func writeFile(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// client returns the TLS configuration of the client of a line, or nil if it uses no TLS.
func (c *certificates) client(l Line) (*tls.Config, error) {
	if l.Request.TLS == nil {
		return nil, nil
	}
	//nolint:gosec // the cases check what the server accepts
	out := &tls.Config{InsecureSkipVerify: true, NextProtos: applicationProtocols(l.Request.Protocol)}
	if l.Certificate != "" {
		issued, err := c.issue(l.Certificate)
		if err != nil {
			return nil, err
		}
		out.Certificates = []tls.Certificate{issued}
	}
	return out, nil
}

func applicationProtocols(p model.Protocol) []string {
	switch {
	case !p.Requests():
		return nil
	case p.Multiplexed():
		return []string{"h2"}
	}
	return []string{"http/1.1"}
}
