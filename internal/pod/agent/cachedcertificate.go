package agent

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"time"

	"anymesh.dev/anymesh/internal/identity"
)

// cachedCertificate returns the certificate of a previous agent process in this pod, if it is still valid. With it
// the proxy restarts immediately after a crash, even if the signing server is unavailable. A new certificate is
// requested in any case.
func (a *agent) cachedCertificate() (*identity.Issued, bool) {
	files := map[string][]byte{"tls.crt": nil, "tls.key": nil, rootsFile: nil}
	for name := range files {
		text, err := os.ReadFile(filepath.Join(a.CertDir, name))
		if err != nil {
			return nil, false // first start in this pod
		}
		files[name] = text
	}
	pair, err := tls.X509KeyPair(files["tls.crt"], files["tls.key"])
	if err != nil {
		return nil, false
	}
	issued := &identity.Issued{
		CertificatePEM: files["tls.crt"], RootsPEM: files[rootsFile], Serial: pair.Leaf.SerialNumber.Text(16),
		NotBefore: pair.Leaf.NotBefore, NotAfter: pair.Leaf.NotAfter,
	}
	if err := verifyIssued(issued, files["tls.key"], time.Now()); err != nil {
		a.Logger.Info("cached certificate is invalid", "error", err)
		return nil, false
	}
	a.metrics.expiry.Set(float64(issued.NotAfter.Unix()))
	return issued, true
}
