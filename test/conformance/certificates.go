package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
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

// certificates are the certificates of a case, by file name. The authority of a folder issues all certificates in it.
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
	for _, w := range m.Workloads {
		for _, l := range w.Listeners {
			if l.TLS == nil {
				continue
			}
			if err := c.write(l.TLS.Certificate, l.TLS.Validation); err != nil {
				return nil, fmt.Errorf("listener of %s: %w", w.Key, err)
			}
		}
		policies := []*model.ClientPolicy{w.ClientPolicy}
		for _, b := range w.Backends {
			policies = append(policies, b.ClientPolicy)
		}
		for _, p := range policies {
			if p == nil {
				continue
			}
			if err := c.write(p.Certificate, p.Validation); err != nil {
				return nil, fmt.Errorf("client policy of %s: %w", w.Key, err)
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

// write writes the files of a certificate and of a validation. Each may be nil.
func (c *certificates) write(own *model.Certificate, v *model.Validation) error {
	if v != nil && v.TrustFile != "" {
		if filepath.Base(v.TrustFile) != trustFile {
			return fmt.Errorf("%s: the trust of a folder is %s", v.TrustFile, trustFile)
		}
		if _, err := c.authority(filepath.Dir(v.TrustFile)); err != nil {
			return err
		}
	}
	if own == nil {
		return nil
	}
	issued, err := c.issue(own.ChainFile)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(issued.PrivateKey)
	if err != nil {
		return err
	}
	return writePEM(own.KeyFile, "PRIVATE KEY", key)
}

// authority returns the authority of a folder.
func (c *certificates) authority(dir string) (*x509.Certificate, error) {
	if known := c.authorities[dir]; known != nil {
		return known, nil
	}
	if !strings.HasPrefix(dir, "/mnt/") {
		return nil, fmt.Errorf("%s: certificates of cases are below /mnt", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := c.template(dir)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if c.authorities[dir], err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	c.keys[dir] = key
	return c.authorities[dir], writePEM(filepath.Join(dir, trustFile), "CERTIFICATE", der)
}

// issue returns the certificate with a file name, and writes it. Its name is that of the file without ".pem".
func (c *certificates) issue(file string) (tls.Certificate, error) {
	if known, ok := c.issued[file]; ok {
		return known, nil
	}
	dir := filepath.Dir(file)
	authority, err := c.authority(dir)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := c.template(file)
	template.DNSNames = namesOf(file)
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), c.keys[dir])
	if err != nil {
		return tls.Certificate{}, err
	}
	c.issued[file] = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return c.issued[file], writePEM(file, "CERTIFICATE", der)
}

// namesOf returns the subject alternative names of the certificate with a file name.
func namesOf(file string) []string { return []string{strings.TrimSuffix(filepath.Base(file), ".pem")} }

// contentOf returns what is in the certificate with a file name.
func contentOf(file string) model.Handshake {
	return model.Handshake{Authority: filepath.Join(filepath.Dir(file), trustFile), Names: namesOf(file)}
}

// connecting returns the line with the destinations of the view to which connections fail.
func (l Line) connecting(ix *model.Index, v *model.View) Line {
	for _, d := range v.Destinations {
		var server *model.ServerTLS
		w, _ := ix.Workload(model.Key{Mesh: d.Mesh, Name: d.Workload})
		for _, listener := range w.Listeners {
			if listener.Port == d.Port {
				server = listener.TLS
			}
		}
		read := func(c model.Certificate) model.Handshake { return contentOf(c.ChainFile) }
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

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o644)
}

// server returns the TLS configuration of the servers of a destination, or nil if they serve no TLS. It is that of the
// listener of the destination's workload.
func (c *certificates) server(ix *model.Index, d model.Destination) (*tls.Config, error) {
	w, _ := ix.Workload(model.Key{Mesh: d.Mesh, Name: d.Workload})
	for _, l := range w.Listeners {
		if l.Port != d.Port || l.TLS == nil || l.TLS.Certificate == nil {
			continue
		}
		issued, err := c.issue(l.TLS.Certificate.ChainFile)
		if err != nil {
			return nil, err
		}
		return &tls.Config{Certificates: []tls.Certificate{issued}}, nil
	}
	return nil, nil
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
