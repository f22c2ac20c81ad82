package agent

import (
	"crypto/tls"
	"os"
	"path/filepath"

	"anymesh.dev/anymesh/internal/identity"
)

// kept is the certificate that an agent before us in this pod has left, if it is still good. With it the proxy comes back at once after a
// crash, also while nobody signs; a new one is asked for all the same.
func (a *agent) kept() (*identity.Issued, bool) {
	files := map[string][]byte{"tls.crt": nil, "tls.key": nil, rootsFile: nil}
	for name := range files {
		text, err := os.ReadFile(filepath.Join(a.CertDir, name))
		if err != nil {
			return nil, false // the pod is new
		}
		files[name] = text
	}
	pair, err := tls.X509KeyPair(files["tls.crt"], files["tls.key"])
	if err != nil {
		return nil, false
	}
	issued := &identity.Issued{
		CertificatePEM: files["tls.crt"], RootsPEM: files[rootsFile], Serial: pair.Leaf.SerialNumber.Text(16), NotAfter: pair.Leaf.NotAfter,
	}
	if err := checkIssued(issued, files["tls.key"]); err != nil {
		a.Logger.Info("the certificate of an earlier start is of no use any more", "error", err)
		return nil, false
	}
	a.metrics.expiry.Set(float64(issued.NotAfter.Unix()))
	return issued, true
}
