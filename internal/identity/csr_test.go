package identity

import (
	"crypto/dsa" // for a key type that must be rejected
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestRequestLimits(t *testing.T) {
	p224, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	rsa2048, _ := rsa.GenerateKey(rand.Reader, 2048)
	_, edwards, _ := ed25519.GenerateKey(rand.Reader)
	t.Setenv("GODEBUG", "rsa1024min=0")
	rsa1024, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	good := newCSR(t, newKey(t), &x509.CertificateRequest{})
	block, _ := pem.Decode(good)
	forged := append([]byte(nil), block.Bytes...)
	forged[len(forged)-1] ^= 1

	for name, c := range map[string]struct {
		csr  []byte
		want string // "" means success
	}{
		"P-256":               {good, ""},
		"P-384":               {newCSR(t, p384, &x509.CertificateRequest{}), ""},
		"Ed25519":             {newCSR(t, edwards, &x509.CertificateRequest{}), ""},
		"RSA 2048":            {newCSR(t, rsa2048, &x509.CertificateRequest{}), ""},
		"RSA 1024":            {newCSR(t, rsa1024, &x509.CertificateRequest{}), "1024 bits"},
		"P-224":               {newCSR(t, p224, &x509.CertificateRequest{}), "P-224"},
		"broken signature":    {EncodeRequest(forged), "possession"},
		"not PEM":             {[]byte("hello"), "not PEM"},
		"empty":               {nil, "not PEM"},
		"a certificate":       {testCA(t).CertificatePEM(), "CERTIFICATE"},
		"two requests":        {append(append([]byte(nil), good...), good...), "more than one"},
		"too large":           {append(append([]byte(nil), good...), make([]byte, MaxRequestSize)...), "at most"},
		"PEM of nothing":      {EncodeRequest(nil), "certificate request"},
		"PEM of random bytes": {EncodeRequest([]byte{1, 2, 3}), "certificate request"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := testCA(t).Sign(c.csr, blue, time.Hour)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && !errors.Is(err, ErrRequest):
				t.Errorf("got %v, want ErrRequest", err)
			case c.want != "" && !strings.Contains(err.Error(), c.want):
				t.Errorf("error %q does not contain %q", err, c.want)
			}
		})
	}
	if checkKey(&dsa.PublicKey{}) == nil {
		t.Error("a DSA key was accepted")
	}
	if checkKey(&rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 9000), E: 3}) == nil {
		t.Error("an RSA key of 9001 bits was accepted")
	}
}
