package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/x509bundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/svid/x509svid"
)

// simPod is a pod with the roots of its injection and those of its last certificate.
type simPod struct {
	key           *ecdsa.PrivateKey
	injectedRoots *Bundle
	issued        *Issued
	roots         *Bundle
	leaf          *x509.Certificate
	renewAt       time.Time
	name          string
	offlineUntil  time.Time // not connected to a replica
	pushed        *Bundle   // last roots over a connection
	pushedAt      time.Time
}

// simMesh is three replicas and up to 16 pods, simulated over days.
type simMesh struct {
	lifetime time.Duration
	stores   []*CAStore
	servings []*ServingCertificate
	pods     []*simPod
	random   *rand.Rand
	verified map[[2]any]bool
	names    []string        // of the replicas
	confirms *confirmingMesh // nil if pods get roots with certificates only
}

func (m *simMesh) randomReplica() int { return m.random.IntN(len(m.stores)) }

// addPod injects a pod by one replica and requests its first certificate from another.
func (m *simMesh) addPod(t *testing.T) {
	a := &simPod{key: newKey(t), injectedRoots: m.stores[m.randomReplica()].Bundle(), name: fmt.Sprint(len(m.pods))}
	m.pods = append(m.pods, a)
	if m.confirms != nil {
		m.confirms.pods = append(m.confirms.pods, a.name)
	}
	m.renew(t, a)
}

// renew verifies the server and requests a certificate, as an agent does.
func (m *simMesh) renew(t *testing.T, a *simPod) {
	t.Helper()
	i, roots := m.randomReplica(), a.roots
	if roots == nil {
		roots = a.injectedRoots
	}
	if err := verifyServing(roots, m.servings[i], time.Now()); err != nil {
		t.Fatalf("%s: a pod cannot renew: %v", m.stores[i].Status().Phase, err)
	}
	issued, err := m.stores[i].Current().Sign(newCSR(t, a.key, &x509.CertificateRequest{}), blue, m.lifetime)
	if err != nil {
		t.Fatal(err)
	}
	a.issued, a.leaf = issued, leafOf(t, issued)
	if a.roots, err = ParseBundle(issued.RootsPEM); err != nil {
		t.Fatal(err)
	}
	if time.Since(a.pushedAt) < pushedFor {
		a.roots = a.roots.Union(a.pushed)
	}
	a.renewAt = RenewAt(time.Now(), issued.NotAfter).Add(-time.Duration(m.random.Int64N(int64(m.lifetime / 10))))
	if m.random.IntN(10) == 0 { // sometimes renewal succeeds only shortly before expiry
		a.renewAt = issued.NotAfter.Add(-m.lifetime / 20)
	}
}

// pushedFor is how long the roots that a pod gets over a connection stay when a certificate comes with others.
const pushedFor = 5 * time.Minute

// connect gives the roots of a replica to each pod, and renews its certificate if another root signs. A tenth of the
// pods is not connected, for up to two hours.
func (m *simMesh) connect(t *testing.T) {
	t.Helper()
	for _, a := range m.pods {
		if m.confirms == nil || time.Now().Before(a.offlineUntil) {
			continue
		}
		if m.random.IntN(1000) == 0 {
			a.offlineUntil = time.Now().Add(time.Duration(m.random.IntN(120)) * time.Minute)
		}
		i := m.randomReplica()
		a.pushed, a.pushedAt = m.stores[i].Bundle(), time.Now()
		a.roots = a.roots.Union(a.pushed)
		m.confirms.confirm(m.names[i], a.name, a.pushed)
		if a.leaf.CheckSignatureFrom(m.stores[i].Current().cert) != nil {
			m.renew(t, a)
		}
	}
}

// verifyAll verifies the certificates between every pod and every replica, and between random pods, in both
// directions.
func (m *simMesh) verifyAll(t *testing.T) {
	t.Helper()
	for i, k := range m.stores {
		serving, err := m.servings[i].currentCertificate()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range m.pods {
			m.verifyOnce(t, k, "a replica is not trusted by a pod", serving.Leaf, a.roots,
				func() error { return verifyServing(a.roots, m.servings[i], time.Now()) })
			m.verifyOnce(t, k, "a pod is not trusted by a replica", a.leaf, k.Current(),
				func() error { return isTrusted(a.leaf, k.Bundle()) })
		}
	}
	for _, a := range m.pods {
		b := m.pods[m.random.IntN(len(m.pods))]
		m.verifyOnce(t, m.stores[0], "a pod is not trusted by another", a.leaf, b.roots,
			func() error { return isTrusted(a.leaf, b.roots) })
	}
}

// verifyOnce verifies a certificate once per bundle: later only its expiry can change the result.
func (m *simMesh) verifyOnce(t *testing.T, k *CAStore, what string, leaf *x509.Certificate, by any,
	verify func() error) {
	t.Helper()
	if time.Now().After(leaf.NotAfter) {
		t.Fatalf("%s: %s: expired", k.Status().Phase, what)
	}
	if m.verified[[2]any{leaf, by}] {
		return
	}
	if err := verify(); err != nil {
		t.Fatalf("%s: %s: %v", k.Status().Phase, what, err)
	}
	m.verified[[2]any{leaf, by}] = true
}

func isTrusted(leaf *x509.Certificate, roots *Bundle) error {
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots.Pool(), CurrentTime: time.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}

// At any time, every pod and replica verify each other: through automatic and requested rotations, with and
// without confirmations of pods, plans of users, new pods, and replicas that restart.
func TestRotationKeepsMutualTrust(t *testing.T) {
	t.Run("by time", func(t *testing.T) { simulateRotations(t, time.Hour, 6, []Plan{{}}) })
	// Certificates do not outlive their root: they have what is left of its lifetime.
	t.Run("with certificates for longer than roots", func(t *testing.T) {
		simulateRotations(t, 24*time.Hour, 3, []Plan{{}})
	})
	t.Run("confirmed", func(t *testing.T) {
		publishing := simulateRotations(t, time.Hour, 6, []Plan{{}}, true)
		if unconfirmed := simulateRotations(t, time.Hour, 6, []Plan{{}}); publishing*2 > unconfirmed {
			t.Errorf("new roots wait for %d minutes if pods confirm them, for %d otherwise", publishing, unconfirmed)
		}
	})
	t.Run("by plans", func(t *testing.T) {
		simulateRotations(t, time.Hour, 6, []Plan{{}, {Active: "a"}, {Active: "b"}, {Active: "a", Passive: []string{"b"}},
			{Active: "b", Passive: []string{"a"}}, {Passive: []string{"a", "c"}}, {Unknown: true}})
	})
}

// simulateRotations gives each replica another one of the plans now and then. Certificates of pods are requested for a
// lifetime. At least this many roots sign.
// It returns the number of minutes of Publishing.
func simulateRotations(t *testing.T, requested time.Duration, roots int, plans []Plan,
	confirmed ...bool) (publishing int) {
	synctest.Test(t, func(t *testing.T) {
		const lifetime, life = time.Hour, 12 * time.Hour
		server := &fakeSecretAPI{}
		m := &simMesh{lifetime: requested, random: rand.New(rand.NewPCG(1, 2)), verified: map[[2]any]bool{}}
		if len(confirmed) > 0 {
			m.confirms = &confirmingMesh{}
		}
		replicas := 0
		var running sync.WaitGroup
		stops := []func(){}
		planOf := func() func() Plan {
			seed := m.random.Uint64()
			return func() Plan {
				hours := uint64(time.Now().Unix() / 3600)
				return plans[rand.New(rand.NewPCG(seed, hours)).IntN(len(plans))]
			}
		}
		replica := func() (*CAStore, *ServingCertificate) {
			opts := CAStoreOptions{Lifetime: lifetime, RootLifetime: life, PollInterval: 20 * time.Second,
				Logger: slog.New(slog.DiscardHandler), Plan: planOf(), Replica: fmt.Sprint("replica-", replicas)}
			if replicas++; m.confirms != nil {
				opts.Trust = m.confirms.trust(opts.Replica)
			}
			k := server.open(t, opts, time.Now)
			s, err := NewServingCertificate(k, []string{"anymesh.test"}, lifetime)
			if err != nil {
				t.Fatal(err)
			}
			k.WillIssue(requested)
			ctx, cancel := context.WithCancel(t.Context())
			stops = append(stops, cancel)
			running.Go(func() { _ = k.Run(ctx) })
			return k, s
		}
		for range 3 {
			k, s := replica()
			m.stores, m.servings, m.names = append(m.stores, k), append(m.servings, s), append(m.names, k.opts.Replica)
			time.Sleep(7 * time.Second) // the replicas sync at different times
		}
		signers, phases := map[string]bool{}, map[Phase]int{}
		for minute := range 2 * 24 * 60 {
			synctest.Wait()
			if minute%170 == 0 && len(m.pods) < 16 {
				m.addPod(t)
			}
			if minute%700 == 300 {
				server.requestRotation()
			}
			if minute%500 == 400 { // a replica restarts
				i := m.randomReplica()
				stops[i]()
				m.stores[i], m.servings[i] = replica()
				m.names[i] = m.stores[i].opts.Replica
				stops[i], stops = stops[len(stops)-1], stops[:len(stops)-1]
			}
			for _, a := range m.pods {
				if !time.Now().Before(a.renewAt) {
					m.renew(t, a)
				}
			}
			m.connect(t)
			m.verifyAll(t)
			signers[fingerprint(m.stores[0].Current().cert)] = true
			phases[m.stores[0].Status().Phase]++
			time.Sleep(time.Minute)
		}
		for _, stop := range stops {
			stop()
		}
		running.Wait()
		if len(signers) < roots || phases[Publishing] == 0 || phases[Retiring] == 0 || phases[Steady] == 0 {
			t.Errorf("%d roots, minutes in each phase: %v", len(signers), phases)
		}
		for _, a := range m.pods {
			verifyWithGoSPIFFE(t, a)
		}
		publishing = phases[Publishing]
	})
	return publishing
}

// verifyWithGoSPIFFE verifies a certificate with the bundle of its response, using go-spiffe.
func verifyWithGoSPIFFE(t *testing.T, a *simPod) {
	t.Helper()
	key, err := encodeKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	svid, err := x509svid.Parse(a.issued.CertificatePEM, key)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := x509bundle.Parse(spiffeid.RequireTrustDomainFromString("cluster.local"), a.issued.RootsPEM)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := x509svid.Verify(svid.Certificates, bundle, x509svid.WithTime(time.Now())); err != nil {
		t.Error(err)
	}
}

// A new root is valid for longer than the phases of its rotation, which are those of certificates that the old root has
// signed, also if the lifetimes were longer then.
func TestRootOutlivesItsRotation(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	server.open(t, CAStoreOptions{Lifetime: 24 * time.Hour}, clock.Now)
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour, RootLifetime: 10 * time.Hour}, clock.Now)
	server.requestRotation()
	for range 70 {
		syncAll(t, k)
		if left := k.Current().cert.NotAfter.Sub(clock.Now()); left < time.Hour {
			t.Fatalf("phase %s: the root that signs is valid for %s", k.Status().Phase, left)
		}
		clock.advance(time.Hour)
	}
	if phase := k.Status().Phase; phase != Steady {
		t.Errorf("phase %s", phase)
	}
}
