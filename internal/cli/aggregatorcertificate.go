package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"anymesh.dev/anymesh/internal/aggregate"
	"anymesh.dev/anymesh/internal/identity"
)

// certificate loads or makes the serving certificate, and returns the CA that clients need.
func (f *aggregatorFlags) certificate(ctx context.Context, config *aggregate.Config, address net.Addr) ([]byte, error) {
	if config.ProbeInterval < time.Second {
		return nil, exitError{2, fmt.Errorf("--probe-interval %v: the value must be at least 1s", config.ProbeInterval)}
	}
	switch {
	case f.service != "":
		return f.serviceCertificate(ctx, config)
	case f.certFile != "":
		loaded, err := tls.LoadX509KeyPair(f.certFile, f.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert-file: %w", err)
		}
		last := loaded.Certificate[len(loaded.Certificate)-1]
		if _, err := x509.ParseCertificate(last); err != nil {
			return nil, fmt.Errorf("--tls-cert-file: %w", err)
		}
		config.Certificate = always(loaded)
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: last}), nil
	}
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil, err
	}
	made, text, err := selfSigned(host)
	if err != nil {
		return nil, fmt.Errorf("making a serving certificate: %w", err)
	}
	config.Certificate = always(made)
	return text, nil
}

func always(c tls.Certificate) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c, nil }
}

// serviceCertificate makes a certificate for the Service. Its key stays in this process: the replicas share the CA.
func (f *aggregatorFlags) serviceCertificate(ctx context.Context, config *aggregate.Config) ([]byte, error) {
	namespace, name, ok := strings.Cut(f.service, "/")
	if !ok || namespace == "" || name == "" {
		return nil, exitError{2, fmt.Errorf("--service %s: the value must be NAMESPACE/NAME", f.service)}
	}
	kube, err := kubernetes.NewForConfig(config.ControlPlane)
	if err != nil {
		return nil, fmt.Errorf("connection to the control plane: %w", err)
	}
	host := name + "." + namespace + ".svc"
	ca, err := identity.OpenCAStore(ctx, kube, identity.CAStoreOptions{
		Namespace: namespace, Secret: name + "-ca", TrustDomain: host, Logger: config.Log,
		Unrecorded: true, // the API server gets the roots from the APIService
	})
	if err != nil {
		return nil, fmt.Errorf("CA of the serving certificate: %w", err)
	}
	serving, err := identity.NewServingCertificate(ca, []string{host}, identity.DefaultLifetime)
	if err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	go func() { _ = ca.Run(ctx) }() // it returns when the context ends
	config.Certificate = serving.GetCertificate
	config.Service = &aggregate.Service{
		NamespacedName: types.NamespacedName{Namespace: namespace, Name: name},
		Bundle:         func() []byte { return ca.Bundle().PEM() },
	}
	return ca.Bundle().PEM(), nil
}
