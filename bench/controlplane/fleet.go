package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/identity"
)

// fleet contains all clients and the endpoints that they wait for.
type fleet struct {
	sidecars []*sidecar
	received atomic.Int64

	mu sync.Mutex
	// missing contains, for each awaited endpoint resource, the clients that have not received it; left is their
	// total number.
	missing map[string]map[int]struct{}
	left    int
	done    chan time.Time
}

// newFleet issues the pod certificate of each client, as the signing endpoint does.
func newFleet(ctx context.Context, plane plane, c *cluster, ca *identity.CA, s size) (*fleet, error) {
	f, clusters := &fleet{}, s.clusters(plane)
	pool := ca.Bundle().Pool()
	for i := range s.clients {
		p := &corev1.Pod{}
		if err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: clientPod(i)}, p); err != nil {
			return nil, err
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
		if err != nil {
			return nil, err
		}
		issued, err := ca.Sign(identity.EncodeRequest(der), identity.Claims{
			Namespace: namespace, ServiceAccount: "default", Pod: p.Name, PodUID: string(p.UID),
		}, time.Hour)
		if err != nil {
			return nil, fmt.Errorf("certificate of %s: %w", p.Name, err)
		}
		der8, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, err
		}
		certificate, err := tls.X509KeyPair(issued.CertificatePEM, encodeKey(der8))
		if err != nil {
			return nil, err
		}
		f.sidecars = append(f.sidecars, &sidecar{
			discovery: c.discovery,
			config: &tls.Config{
				Certificates: []tls.Certificate{certificate}, RootCAs: pool, NextProtos: []string{"h2"},
				ServerName: serverName, MinVersion: tls.VersionTLS13,
			},
			subscriptions: plane.subscriptions(i, s, clusters),
			received:      &f.received,
			got:           func(r response) { f.record(i, r) },
		})
	}
	return f, nil
}

// start connects all clients. stop disconnects them and waits.
func (f *fleet) start(ctx context.Context) (stop func()) {
	stops := make([]func(), len(f.sidecars))
	for i, s := range f.sidecars {
		stops[i] = s.start(ctx)
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// expect registers endpoint resources. The channel receives the time at which the last client has acknowledged the
// last of them.
func (f *fleet) expect(names []string) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missing, f.done = map[string]map[int]struct{}{}, make(chan time.Time, 1)
	for _, name := range names {
		f.missing[name] = make(map[int]struct{}, len(f.sidecars))
		for i := range f.sidecars {
			f.missing[name][i] = struct{}{}
		}
	}
	f.left = len(names) * len(f.sidecars)
	return f.done
}

// record records a response that a client has acknowledged.
func (f *fleet) record(i int, r response) {
	if r.typeURL != endpointType {
		return
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range r.names {
		if waits := f.missing[name]; waits != nil {
			if _, missing := waits[i]; missing {
				delete(waits, i)
				if f.left--; f.left == 0 {
					f.done <- now
				}
			}
		}
	}
}
