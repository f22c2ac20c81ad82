package identity

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
)

// turns lets each keeper have a turn or two, so that all have seen what one has done.
func turns(t *testing.T, keepers ...*Keeper) {
	t.Helper()
	for range 2 {
		for _, k := range keepers {
			if err := k.turn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// expect checks what a keeper says of itself.
func expect(t *testing.T, k *Keeper, phase Phase, roles ...Role) {
	t.Helper()
	s := k.Status()
	var got []Role
	for _, r := range s.Roots {
		got = append(got, r.Role)
	}
	if s.Phase != phase || len(got) != len(roles) {
		t.Fatalf("phase %s with roots %v, want %s with %v", s.Phase, got, phase, roles)
	}
	for i := range roles {
		if got[i] != roles[i] {
			t.Fatalf("roots %v, want %v", got, roles)
		}
	}
}

// The life of a rotation that someone asks for, seen by two replicas; one is started anew in each phase.
func TestARotationGoesThroughItsPhases(t *testing.T) {
	server, clock := &secretServer{}, newClock()
	a := server.open(t, KeeperOptions{Lifetime: time.Hour}, clock.Now)
	b := server.open(t, KeeperOptions{Lifetime: time.Hour}, clock.Now)
	first := a.Current().cert
	turns(t, a, b)
	expect(t, a, Steady, RoleSigning)
	if at := a.Status().RotateAt; at == nil || !at.Equal(first.NotAfter.Add(-first.NotAfter.Sub(first.NotBefore)/5)) {
		t.Errorf("rotates by itself at %v", at)
	}

	server.askForANewRoot()
	turns(t, a, b)
	expect(t, b, Publishing, RoleSigning, RoleNext)
	if !b.Current().cert.Equal(first) {
		t.Fatal("the new root signs before everybody knows it")
	}
	if _, left := server.secret.Annotations[RotateAnnotation]; left {
		t.Error("the wish is still there: the root would be rotated for ever")
	}

	clock.pass(phaseLength(time.Hour) - time.Second)
	b = server.open(t, KeeperOptions{Lifetime: time.Hour}, clock.Now)
	turns(t, b, a)
	expect(t, b, Publishing, RoleSigning, RoleNext)
	clock.pass(2 * time.Second)
	turns(t, b, a)
	expect(t, a, Retiring, RoleSigning, RolePrevious)
	second := a.Current().cert
	if second.Equal(first) || !second.Equal(b.Current().cert) {
		t.Fatal("the replicas do not sign with the same new root")
	}

	clock.pass(phaseLength(time.Hour) - 3*time.Second)
	a = server.open(t, KeeperOptions{Lifetime: time.Hour}, clock.Now)
	turns(t, a, b)
	expect(t, a, Retiring, RoleSigning, RolePrevious)
	clock.pass(4 * time.Second)
	turns(t, a, b)
	expect(t, a, Steady, RoleSigning)
	expect(t, b, Steady, RoleSigning)
	if bundle := b.Bundle(); len(bundle.Roots()) != 1 || !bundle.Roots()[0].Equal(second) {
		t.Error("the old root is still trusted")
	}
	for _, key := range []string{nextCertKey, nextKeyKey, previousKey} {
		if _, left := server.secret.Data[key]; left {
			t.Errorf("%s is left in the Secret", key)
		}
	}
	writes := server.writes
	turns(t, a, b)
	if server.writes != writes {
		t.Error("nothing was due, and the Secret was written")
	}
}

// A pod that was told of its roots before three rotations still trusts who signs now, by way of cross certificates.
func TestPodsOfLongAgoFindTheirWay(t *testing.T) {
	server, clock := &secretServer{}, newClock()
	k := server.open(t, KeeperOptions{Lifetime: time.Hour}, clock.Now)
	serving, err := NewServing(k, []string{"anymesh.test"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	told := []*Bundle{k.Bundle()}
	for range 3 {
		server.askForANewRoot()
		for range 3 {
			turns(t, k)
			clock.pass(phaseLength(time.Hour))
		}
		turns(t, k)
		expect(t, k, Steady, RoleSigning)
		told = append(told, k.Bundle())
	}
	for i, roots := range told {
		if err := trusts(roots, serving, clock.Now()); err != nil {
			t.Errorf("told of %d rotations: %v", i, err)
		}
	}
	if err := trusts(testCA(t).Bundle(), serving, clock.Now()); err == nil {
		t.Error("a stranger trusts us, too")
	}
}

// trusts performs the client's half of a handshake.
func trusts(roots *Bundle, serving *Serving, now time.Time) error {
	cert, err := serving.current()
	if err != nil {
		return err
	}
	above := x509.NewCertPool()
	for _, der := range cert.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		above.AddCert(c)
	}
	_, err = cert.Leaf.Verify(x509.VerifyOptions{Roots: roots.Pool(), Intermediates: above, CurrentTime: now, DNSName: "anymesh.test"})
	return err
}

// A root is replaced before it expires, so early that no certificate is cut short by it.
func TestRootsAreReplacedInTime(t *testing.T) {
	server, clock := &secretServer{}, newClock()
	k := server.open(t, KeeperOptions{Lifetime: time.Hour, RootLifetime: 10 * time.Hour}, clock.Now)
	signers := map[string]bool{}
	for range 60 * 60 {
		turns(t, k)
		ca := k.Current()
		signers[fingerprint(ca.cert)] = true
		if left := ca.cert.NotAfter.Sub(clock.Now()); left < time.Hour {
			t.Fatalf("in phase %s the signer has %s left", k.Status().Phase, left)
		}
		clock.pass(time.Minute)
	}
	if n := len(signers); n < 6 || n > 12 {
		t.Errorf("%d roots in 60 hours, with 10 hours each", n)
	}
}

func TestAnAuthorityOfSomebodyElseIsFollowedAndNotRotated(t *testing.T) {
	server, clock := &secretServer{}, newClock()
	k := server.open(t, KeeperOptions{Lifetime: time.Hour}, clock.Now)
	theirs, err := newCA("cluster.local", clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	key, err := theirs.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	server.edit(func(s *corev1.Secret) {
		delete(s.Labels, managedLabel)
		s.Data = map[string][]byte{"tls.crt": theirs.CertificatePEM(), "tls.key": key, "ca.crt": theirs.Bundle().Union(k.Bundle()).PEM()}
	})
	server.askForANewRoot()
	writes := server.writes
	turns(t, k)
	expect(t, k, Steady, RoleSigning, RoleTrusted)
	if s := k.Status(); s.Managed || s.RotateAt != nil || !k.Current().cert.Equal(theirs.cert) || server.writes != writes {
		t.Errorf("status %+v, %d writes", s, server.writes-writes)
	}
}

func TestLifetimesHaveToFit(t *testing.T) {
	for want, opts := range map[string]KeeperOptions{
		"ten times":    {Lifetime: time.Hour, RootLifetime: 9 * time.Hour},
		"positive":     {Lifetime: -time.Hour},
		"trust domain": {TrustDomain: "Not A Domain"},
	} {
		if _, err := OpenKeeper(t.Context(), (&secretServer{}).client(), opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// A longer lifetime in the configuration makes the phases longer: certificates that were signed with it have to expire.
func TestPhasesFollowTheLongestLifetime(t *testing.T) {
	server, clock := &secretServer{}, newClock()
	turns(t, server.open(t, KeeperOptions{Lifetime: 24 * time.Hour}, clock.Now))
	k := server.open(t, KeeperOptions{Lifetime: time.Hour}, clock.Now)
	server.askForANewRoot()
	turns(t, k)
	if left := k.Status().Until.Sub(clock.Now()); left != phaseLength(24*time.Hour) {
		t.Errorf("the phase has %s", left)
	}
}

func TestMetricsOfARotation(t *testing.T) {
	server, clock, registry := &secretServer{}, newClock(), prometheus.NewPedanticRegistry()
	k := server.open(t, KeeperOptions{Lifetime: time.Hour, Registerer: registry}, clock.Now)
	server.askForANewRoot()
	turns(t, k)
	want := `# HELP anymesh_identity_rotation_phase 1 for the phase that the rotation of the root is in.
# TYPE anymesh_identity_rotation_phase gauge
anymesh_identity_rotation_phase{phase="Publishing"} 1
anymesh_identity_rotation_phase{phase="Retiring"} 0
anymesh_identity_rotation_phase{phase="Steady"} 0
# HELP anymesh_identity_rotation_steps_total Steps of rotations of the root that this replica has taken, by the phase that they led to.
# TYPE anymesh_identity_rotation_steps_total counter
anymesh_identity_rotation_steps_total{phase="Publishing"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "anymesh_identity_rotation_phase", "anymesh_identity_rotation_steps_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "anymesh_identity_root_expiry_timestamp_seconds"); err != nil || n != 2 {
		t.Errorf("expiry of %d roles, %v", n, err)
	}
}
