package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
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

// simAgent is a pod: it knows the roots of its injection, and what came with its last certificate.
type simAgent struct {
	key    *ecdsa.PrivateKey
	told   *Bundle
	issued *Issued
	roots  *Bundle
	leaf   *x509.Certificate
	renew  time.Time
}

// simMesh is three replicas and many pods, over days that last seconds.
type simMesh struct {
	lifetime time.Duration
	keepers  []*Keeper
	servings []*Serving
	agents   []*simAgent
	random   *rand.Rand
	met      map[[2]any]bool
}

func (m *simMesh) any() int { return m.random.IntN(len(m.keepers)) }

// enter is a pod that is injected by one replica, and asks another one for its first certificate.
func (m *simMesh) enter(t *testing.T) {
	a := &simAgent{key: newKey(t), told: m.keepers[m.any()].Bundle()}
	m.agents = append(m.agents, a)
	m.obtain(t, a)
}

// obtain is what the agent does: it verifies the server, and uses what it gets.
func (m *simMesh) obtain(t *testing.T, a *simAgent) {
	t.Helper()
	i, roots := m.any(), a.roots
	if roots == nil {
		roots = a.told
	}
	if err := trusts(roots, m.servings[i], time.Now()); err != nil {
		t.Fatalf("%s: a pod cannot renew: %v", m.keepers[i].Status().Phase, err)
	}
	issued, err := m.keepers[i].Current().Sign(request(t, a.key, &x509.CertificateRequest{}), blue, m.lifetime)
	if err != nil {
		t.Fatal(err)
	}
	a.issued, a.leaf = issued, leafOf(t, issued)
	if a.roots, err = ParseBundle(issued.RootsPEM); err != nil {
		t.Fatal(err)
	}
	a.renew = RenewAt(time.Now(), issued.NotAfter).Add(-time.Duration(m.random.Int64N(int64(m.lifetime / 10))))
	if m.random.IntN(10) == 0 { // it could not, for nearly as long as it can wait
		a.renew = issued.NotAfter.Add(-m.lifetime / 20)
	}
}

// handshakes lets every pod meet every replica, and some other pod, in both directions.
func (m *simMesh) handshakes(t *testing.T) {
	t.Helper()
	for i, k := range m.keepers {
		serving, err := m.servings[i].current()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range m.agents {
			m.meet(t, k, "a replica is not trusted by a pod", serving.Leaf, a.roots, func() error { return trusts(a.roots, m.servings[i], time.Now()) })
			m.meet(t, k, "a pod is not trusted by a replica", a.leaf, k.Current(), func() error { return isTrusted(a.leaf, k.Bundle()) })
		}
	}
	for _, a := range m.agents {
		b := m.agents[m.random.IntN(len(m.agents))]
		m.meet(t, m.keepers[0], "a pod is not trusted by another", a.leaf, b.roots, func() error { return isTrusted(a.leaf, b.roots) })
	}
}

// meet verifies a certificate once for each bundle: after that, only its expiry can change the answer.
func (m *simMesh) meet(t *testing.T, k *Keeper, what string, leaf *x509.Certificate, by any, verify func() error) {
	t.Helper()
	if time.Now().After(leaf.NotAfter) {
		t.Fatalf("%s: %s: expired", k.Status().Phase, what)
	}
	if m.met[[2]any{leaf, by}] {
		return
	}
	if err := verify(); err != nil {
		t.Fatalf("%s: %s: %v", k.Status().Phase, what, err)
	}
	m.met[[2]any{leaf, by}] = true
}

func isTrusted(leaf *x509.Certificate, roots *Bundle) error {
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots.Pool(), CurrentTime: time.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}

// Whatever the moment, the replica and the pod: each verifies the other, through
// rotations by the clock and by wish, late pods, and replicas that come and go.
func TestNobodyIsLockedOutWhileRootsRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lifetime, life = time.Hour, 12 * time.Hour
		server := &secretServer{}
		m := &simMesh{lifetime: lifetime, random: rand.New(rand.NewPCG(1, 2)), met: map[[2]any]bool{}}
		var running sync.WaitGroup
		stops := []func(){}
		replica := func() (*Keeper, *Serving) {
			k := server.open(t, KeeperOptions{Lifetime: lifetime, RootLifetime: life, Every: 20 * time.Second, Logger: slog.New(slog.DiscardHandler)}, time.Now)
			s, err := NewServing(k, []string{"anymesh.test"}, lifetime)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			stops = append(stops, cancel)
			running.Go(func() { _ = k.Run(ctx) })
			return k, s
		}
		for range 3 {
			k, s := replica()
			m.keepers, m.servings = append(m.keepers, k), append(m.servings, s)
			time.Sleep(7 * time.Second) // they do not turn at the same time
		}
		signers, phases := map[string]bool{}, map[Phase]int{}
		for minute := range 2 * 24 * 60 {
			synctest.Wait()
			if minute%170 == 0 && len(m.agents) < 16 {
				m.enter(t)
			}
			if minute%700 == 300 {
				server.askForANewRoot()
			}
			if minute%500 == 400 { // a replica is replaced
				i := m.any()
				stops[i]()
				m.keepers[i], m.servings[i] = replica()
				stops[i], stops = stops[len(stops)-1], stops[:len(stops)-1]
			}
			for _, a := range m.agents {
				if !time.Now().Before(a.renew) {
					m.obtain(t, a)
				}
			}
			m.handshakes(t)
			signers[fingerprint(m.keepers[0].Current().cert)] = true
			phases[m.keepers[0].Status().Phase]++
			time.Sleep(time.Minute)
		}
		for _, stop := range stops {
			stop()
		}
		running.Wait()
		if len(signers) < 6 || phases[Publishing] == 0 || phases[Retiring] == 0 || phases[Steady] == 0 {
			t.Errorf("%d roots, minutes in each phase: %v", len(signers), phases)
		}
		for _, a := range m.agents {
			judge(t, a)
		}
	})
}

// judge lets go-spiffe, which we did not write, verify a certificate with the bundle that came with it.
func judge(t *testing.T, a *simAgent) {
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
