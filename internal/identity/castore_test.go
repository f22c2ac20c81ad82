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

// syncAll syncs each store twice, so that all have seen the changes of each.
func syncAll(t *testing.T, keepers ...*CAStore) {
	t.Helper()
	for range 2 {
		for _, k := range keepers {
			if err := k.sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkStatus checks phase and roots of a store.
func checkStatus(t *testing.T, k *CAStore, phase Phase, roles ...Role) {
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

// A requested rotation, seen by two replicas. One replica restarts in each phase.
func TestRotationPhases(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	a := server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
	b := server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
	first := a.Current().cert
	syncAll(t, a, b)
	checkStatus(t, a, Steady, RoleSigning)
	if at := a.Status().RotateAt; at == nil || !at.Equal(first.NotAfter.Add(-first.NotAfter.Sub(first.NotBefore)/5)) {
		t.Errorf("automatic rotation at %v", at)
	}

	server.requestRotation()
	syncAll(t, a, b)
	checkStatus(t, b, Publishing, RoleSigning, RoleNext)
	if !b.Current().cert.Equal(first) {
		t.Fatal("the new root signs while Publishing")
	}
	if _, left := server.secret.Annotations[RotateAnnotation]; left {
		t.Error("the rotate annotation is left")
	}

	clock.advance(phaseLength(time.Hour) - time.Second)
	b = server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
	syncAll(t, b, a)
	checkStatus(t, b, Publishing, RoleSigning, RoleNext)
	clock.advance(2 * time.Second)
	syncAll(t, b, a)
	checkStatus(t, a, Retiring, RoleSigning, RolePrevious)
	second := a.Current().cert
	if second.Equal(first) || !second.Equal(b.Current().cert) {
		t.Fatal("the replicas do not sign with the same new root")
	}

	clock.advance(phaseLength(time.Hour) - 3*time.Second)
	a = server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
	syncAll(t, a, b)
	checkStatus(t, a, Retiring, RoleSigning, RolePrevious)
	clock.advance(4 * time.Second)
	syncAll(t, a, b)
	checkStatus(t, a, Steady, RoleSigning)
	checkStatus(t, b, Steady, RoleSigning)
	if bundle := b.Bundle(); len(bundle.Roots()) != 1 || !bundle.Roots()[0].Equal(second) {
		t.Error("the old root is still trusted")
	}
	for _, key := range []string{nextCertKey, nextKeyKey, previousKey} {
		if _, left := server.secret.Data[key]; left {
			t.Errorf("%s is left in the Secret", key)
		}
	}
	writes := server.writes
	syncAll(t, a, b)
	if server.writes != writes {
		t.Error("the Secret was written without a due step")
	}
}

// A pod that received its roots three rotations ago trusts the current signer by cross certificates.
func TestOldPodsTrustNewRootByCrossCertificates(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
	serving, err := NewServingCertificate(k, []string{"anymesh.test"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	told := []*Bundle{k.Bundle()}
	for range 3 {
		server.requestRotation()
		for range 3 {
			syncAll(t, k)
			clock.advance(phaseLength(time.Hour))
		}
		syncAll(t, k)
		checkStatus(t, k, Steady, RoleSigning)
		told = append(told, k.Bundle())
	}
	for i, roots := range told {
		if err := verifyServing(roots, serving, clock.Now()); err != nil {
			t.Errorf("roots after %d rotations: %v", i, err)
		}
	}
	if err := verifyServing(testCA(t).Bundle(), serving, clock.Now()); err == nil {
		t.Error("another CA verifies the certificate")
	}
}

// verifyServing verifies the serving certificate as a client does.
func verifyServing(roots *Bundle, serving *ServingCertificate, now time.Time) error {
	cert, err := serving.currentCertificate()
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
	_, err = cert.Leaf.Verify(x509.VerifyOptions{Roots: roots.Pool(), Intermediates: above, CurrentTime: now,
		DNSName: "anymesh.test"})
	return err
}

// A root is rotated so early that it never shortens the lifetime of a certificate.
func TestRootIsRotatedBeforeExpiry(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour, RootLifetime: 10 * time.Hour}, clock.Now)
	signers := map[string]bool{}
	for range 60 * 60 {
		syncAll(t, k)
		ca := k.Current()
		signers[fingerprint(ca.cert)] = true
		if left := ca.cert.NotAfter.Sub(clock.Now()); left < time.Hour {
			t.Fatalf("in phase %s the signer has %s left", k.Status().Phase, left)
		}
		clock.advance(time.Minute)
	}
	if n := len(signers); n < 6 || n > 12 {
		t.Errorf("%d roots in 60 hours, with 10 hours each", n)
	}
}

func TestForeignCAIsUsedButNotRotated(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
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
		s.Data = map[string][]byte{"tls.crt": theirs.CertificatePEM(), "tls.key": key,
			"ca.crt": theirs.Bundle().Union(k.Bundle()).PEM()}
	})
	server.requestRotation()
	writes := server.writes
	syncAll(t, k)
	checkStatus(t, k, Steady, RoleSigning, RoleTrusted)
	if s := k.Status(); s.Managed || s.RotateAt != nil || !k.Current().cert.Equal(theirs.cert) ||
		server.writes != writes {
		t.Errorf("status %+v, %d writes", s, server.writes-writes)
	}
}

func TestInvalidLifetimesAreRejected(t *testing.T) {
	for want, opts := range map[string]CAStoreOptions{
		"ten times":    {Lifetime: time.Hour, RootLifetime: 9 * time.Hour},
		"positive":     {Lifetime: -time.Hour},
		"trust domain": {TrustDomain: "Not A Domain"},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := OpenCAStore(t.Context(), (&fakeSecretAPI{}).client(), opts); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not contain %q", err, want)
			}
		})
	}
}

// A longer configured lifetime makes the phases longer: all certificates of the old root must expire.
func TestPhaseLengthUsesLongestLifetime(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	syncAll(t, server.open(t, CAStoreOptions{Lifetime: 24 * time.Hour}, clock.Now))
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
	server.requestRotation()
	syncAll(t, k)
	if left := k.Status().Until.Sub(clock.Now()); left != phaseLength(24*time.Hour) {
		t.Errorf("the phase has %s", left)
	}
}

func TestRotationMetrics(t *testing.T) {
	server, clock, registry := &fakeSecretAPI{}, newFakeClock(), prometheus.NewPedanticRegistry()
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour, Registerer: registry}, clock.Now)
	server.requestRotation()
	syncAll(t, k)
	want := `# HELP anymesh_identity_rotation_phase 1 for the current phase of the root rotation, 0 for the others.
# TYPE anymesh_identity_rotation_phase gauge
anymesh_identity_rotation_phase{phase="Publishing"} 1
anymesh_identity_rotation_phase{phase="Retiring"} 0
anymesh_identity_rotation_phase{phase="Steady"} 0
# HELP anymesh_identity_rotation_phase_changes_total Phase changes of root rotations that this replica performed, by new phase.
# TYPE anymesh_identity_rotation_phase_changes_total counter
anymesh_identity_rotation_phase_changes_total{phase="Publishing"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "anymesh_identity_rotation_phase",
		"anymesh_identity_rotation_phase_changes_total"); err != nil {
		t.Error(err)
	}
	if n, err := testutil.GatherAndCount(registry, "anymesh_identity_root_expiry_timestamp_seconds"); err != nil ||
		n != 2 {
		t.Errorf("expiry of %d roles, %v", n, err)
	}
}
