// Package pki creates the keys and certificates of one cluster.
//
// In: a folder and the names and addresses of the API server. Out: PEM files in the folder, and kubeconfig files for
// the components. Every lab gets new keys, which are removed with it.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Validity is the lifetime of certificates, which is much longer than that of any lab.
const Validity = 5 * 365 * 24 * time.Hour

// Names are the subject alternative names and identities that differ between clusters.
type Names struct {
	APIServerIPs []net.IP // addresses of the node, the first Service and the loopback interface of the host
	NodeName     string
	NodeIPs      []net.IP
}

type issuer struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

type leaf struct {
	file, cn string
	org      []string
	dns      []string
	ips      []net.IP
}

// Make writes the key pairs ca, apiserver, kubelet, front-proxy, admin, kcm, scheduler, proxy and dns (NAME.crt,
// NAME.key) and the service account key pair (sa.key, sa.pub) to dir, which it creates.
func Make(dir string, n Names) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("pki: %w", err)
	}
	ca, err := newIssuer(dir)
	if err != nil {
		return fmt.Errorf("pki: certificate authority: %w", err)
	}
	api := []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local",
	}
	for _, l := range []leaf{
		{"apiserver", "kube-apiserver", nil, api, n.APIServerIPs},
		{"kubelet", "system:node:" + n.NodeName, []string{"system:nodes"}, []string{n.NodeName}, n.NodeIPs},
		{file: "front-proxy", cn: "front-proxy"},
		{file: "admin", cn: "admin", org: []string{"system:masters"}},
		{file: "apiserver-kubelet", cn: "kube-apiserver-kubelet-client", org: []string{"system:masters"}},
		{file: "kcm", cn: "system:kube-controller-manager"},
		{file: "scheduler", cn: "system:kube-scheduler"},
		{file: "proxy", cn: "system:kube-proxy"},
		{file: "dns", cn: "system:coredns"},
	} {
		if err := ca.issue(l); err != nil {
			return fmt.Errorf("pki: %s: %w", l.file, err)
		}
	}
	if err := serviceAccountKey(dir); err != nil {
		return fmt.Errorf("pki: service account key: %w", err)
	}
	return nil
}

func newIssuer(dir string) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t, err := template(leaf{cn: "anymesh-sandbox"})
	if err != nil {
		return nil, err
	}
	t.IsCA, t.ExtKeyUsage = true, nil
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &issuer{dir, cert, key}, writePair(dir, "ca", der, key)
}

func (i *issuer) issue(l leaf) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	t, err := template(l)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, i.cert, key.Public(), i.key)
	if err != nil {
		return err
	}
	return writePair(i.dir, l.file, der, key)
}

func template(l leaf) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: l.cn, Organization: l.org},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(Validity),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    l.dns, IPAddresses: l.ips,
	}, nil
}

func writePair(dir, name string, cert []byte, key crypto.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(dir, name+".key", "PRIVATE KEY", der); err != nil {
		return err
	}
	return writePEM(dir, name+".crt", "CERTIFICATE", cert)
}

func serviceAccountKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(dir, "sa.key", "EC PRIVATE KEY", der); err != nil {
		return err
	}
	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return writePEM(dir, "sa.pub", "PUBLIC KEY", pub)
}

func writePEM(dir, name, kind string, der []byte) error {
	b := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return os.WriteFile(filepath.Join(dir, name), b, 0o600)
}
