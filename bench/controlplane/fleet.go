package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/identity"
)

// fleet contains all clients and the endpoints that they wait for.
type fleet struct {
	plane   plane
	cluster *cluster
	ca      *identity.CA
	size

	sidecars []*sidecar
	agents   []*sidecar
	received atomic.Int64

	mu sync.Mutex
	// missing contains, for each awaited endpoint resource, the clients that have not received it; left is their
	// total number.
	missing map[string]map[int]struct{}
	left    int
	done    chan time.Time
	// silent are the clients without a response since the last call of watch, heard those with one, and last is the
	// time of the last response.
	silent, heard map[int]struct{}
	last          time.Time
}

// newFleet creates the clients, without connecting them.
func newFleet(ctx context.Context, plane plane, c *cluster, ca *identity.CA, s size) (*fleet, error) {
	f := &fleet{plane: plane, cluster: c, ca: ca, size: s}
	for i := range s.clients {
		one, err := f.newSidecar(ctx, i)
		if err != nil {
			return nil, err
		}
		f.sidecars = append(f.sidecars, one)
		if named, has := plane.(agentPlane); has && s.agents {
			f.agents = append(f.agents, &sidecar{
				discovery: one.discovery, config: one.config, subscriptions: named.agentSubscriptions(),
				received: &f.received, got: func(response) {},
			})
		}
	}
	return f, nil
}

// newSidecar creates a client with the certificate of its pod, as the signing endpoint issues it.
func (f *fleet) newSidecar(ctx context.Context, i int) (*sidecar, error) {
	p := &corev1.Pod{}
	if err := f.cluster.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: clientPod(i)}, p); err != nil {
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
	issued, err := f.ca.Sign(identity.EncodeRequest(der), identity.Claims{
		Namespace: namespace, ServiceAccount: p.Spec.ServiceAccountName, Pod: p.Name, PodUID: string(p.UID),
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
	return &sidecar{
		discovery: f.cluster.discovery,
		config: &tls.Config{
			Certificates: []tls.Certificate{certificate}, RootCAs: f.ca.Bundle().Pool(), NextProtos: []string{"h2"},
			ServerName: serverName, MinVersion: tls.VersionTLS13,
		},
		subscriptions: f.plane.subscriptions(i, i%f.workloads), received: &f.received,
		got: func(r response) { f.record(i, r) },
	}, nil
}

// connected returns the number of clients that start connects.
func (f *fleet) connected() float64 { return float64(len(f.sidecars) + len(f.agents)) }

// add connects an additional client, of a pod of the given workload, until the context ends. It is watched, too.
func (f *fleet) add(ctx context.Context, i, workload int) error {
	one, err := f.newSidecar(ctx, i)
	if err != nil {
		return err
	}
	one.subscriptions = f.plane.subscriptions(i, workload)
	f.mu.Lock()
	f.silent[i] = struct{}{}
	f.mu.Unlock()
	one.start(ctx)
	return nil
}

// firstClients are a sidecar of each workload and its agent, others are the other clients.
func (f *fleet) firstClients() (first, others []*sidecar) {
	for _, all := range [][]*sidecar{f.sidecars, f.agents} {
		n := min(f.workloads, len(all))
		first, others = append(first, all[:n]...), append(others, all[n:]...)
	}
	return first, others
}

// start connects clients. stop disconnects them and waits.
func (f *fleet) start(ctx context.Context, clients []*sidecar) (stop func()) {
	var stops []func()
	for _, s := range clients {
		stops = append(stops, s.start(ctx))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// expect registers the endpoint resources of services. The channel receives the time at which the last client has
// acknowledged the last of them.
func (f *fleet) expect(services ...int) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missing, f.done = map[string]map[int]struct{}{}, make(chan time.Time, 1)
	f.left = 0
	for _, service := range services {
		waits := make(map[int]struct{}, len(f.sidecars))
		for i := range f.sidecars {
			if parts, is := f.plane.(partsPlane); !is || parts.reaches(i, service) {
				waits[i] = struct{}{}
			}
		}
		f.missing[f.plane.clusterName(service)] = waits
		f.left += len(waits)
	}
	return f.done
}

// record records a response that a client has acknowledged.
func (f *fleet) record(i int, r response) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.silent, i)
	if f.last = now; f.heard != nil {
		f.heard[i] = struct{}{}
	}
	awaited := endpointType
	if parts, is := f.plane.(partsPlane); is {
		awaited = parts.resourceType()
	}
	if r.typeURL != awaited {
		return
	}
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

// watch starts to wait for a response of each of the given clients.
func (f *fleet) watch(clients ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.silent, f.heard = map[int]struct{}{}, map[int]struct{}{}
	for _, i := range clients {
		f.silent[i] = struct{}{}
	}
}

// watchOnly ends the watch of all other clients.
func (f *fleet) watchOnly(clients []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.silent, func(i int, _ struct{}) bool { return !slices.Contains(clients, i) })
}

// reached returns the number of clients with a response since the last call of watch.
func (f *fleet) reached() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.heard)
}

// quiet is the time without responses after which a change is complete.
const quiet = 300 * time.Millisecond

// complete reports whether all watched clients had a response and the last one is some time ago. It returns the time of
// the last response.
func (f *fleet) complete() (last time.Time, done bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, len(f.silent) == 0 && time.Since(f.last) > quiet
}
