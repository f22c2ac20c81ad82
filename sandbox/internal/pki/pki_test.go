package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// TestMake checks that all certificates have the same CA, that the certificate of the API server has its names and
// addresses, and that kubeconfig files are self-contained.
func TestMake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	err := Make(dir,
		Names{APIServerIPs: []net.IP{net.IPv4(127, 0, 0, 1)}, NodeName: "n", NodeIPs: []net.IP{net.ParseIP("fd00::2")}})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for name, host := range map[string]string{"apiserver": "127.0.0.1", "kubelet": "fd00::2", "admin": "", "dns": ""} {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := filepath.Join(dir, "user.kubeconfig")
	if err := Kubeconfig(dir, "admin", "c1", "https://127.0.0.1:1", file); err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil || cfg.Host != "https://127.0.0.1:1" || len(cfg.CertData) == 0 || len(cfg.CAData) == 0 {
		t.Errorf("%+v %v", cfg, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if err := Kubeconfig(dir, "nobody", "c1", "https://x", file); err == nil {
		t.Error("want an error for an unknown user")
	}
}
