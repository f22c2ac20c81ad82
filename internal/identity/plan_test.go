package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// planned is a CA with two replicas, which follow a plan.
type planned struct {
	server *fakeSecretAPI
	clock  *fakeClock
	plan   Plan
	a, b   *CAStore
}

func newPlanned(t *testing.T, opts CAStoreOptions) *planned {
	p := &planned{server: &fakeSecretAPI{}, clock: newFakeClock()}
	opts.Plan = func() Plan { return p.plan }
	p.a, p.b = p.server.open(t, opts, p.clock.Now), p.server.open(t, opts, p.clock.Now)
	syncAll(t, p.a, p.b)
	return p
}

// follow sets the plan, and checks the names of the roots, which are in the order of Roles.
func (p *planned) follow(t *testing.T, plan Plan, phase Phase, names ...string) {
	t.Helper()
	p.plan = plan
	syncAll(t, p.a, p.b)
	for _, k := range []*CAStore{p.a, p.b} {
		var got []string
		for _, r := range k.Status().Roots {
			got = append(got, r.Name)
		}
		if k.Status().Phase != phase || !cmp.Equal(got, names) {
			t.Fatalf("phase %s with the roots %q, want %s with %q", k.Status().Phase, got, phase, names)
		}
	}
}

func (p *planned) wait(t *testing.T) {
	t.Helper()
	p.clock.advance(phaseLength(time.Hour) + time.Second)
	syncAll(t, p.a, p.b)
}

// Each step of a rotation waits for the roles and for the time after which all workloads know the last one.
func TestPlannedRotation(t *testing.T) {
	p := newPlanned(t, CAStoreOptions{Lifetime: time.Hour})
	one := p.a.Current().cert
	p.follow(t, Plan{Active: "one"}, Steady, "one")
	if !p.a.Current().cert.Equal(one) {
		t.Fatal("the first active root is another one than that in use")
	}
	p.follow(t, Plan{Active: "one", Passive: []string{"two"}}, Publishing, "one", "two")
	p.follow(t, Plan{Passive: []string{"one", "two"}}, Publishing, "one", "two")
	p.follow(t, Plan{Active: "two", Passive: []string{"one"}}, Publishing, "one", "two")
	if !p.a.Current().cert.Equal(one) {
		t.Fatal("the new root signs before all workloads have it")
	}
	p.wait(t)
	p.follow(t, p.plan, Retiring, "two", "one")
	p.follow(t, Plan{Active: "two"}, Retiring, "two", "one")
	p.follow(t, Plan{Active: "two", Passive: []string{"one"}}, Retiring, "two", "one")
	p.wait(t)
	p.wait(t)
	p.follow(t, p.plan, Retiring, "two", "one")
	p.follow(t, Plan{Active: "two"}, Steady, "two")
	writes := p.server.writes
	p.wait(t)
	if p.server.writes != writes {
		t.Error("the Secret was written without a step")
	}
}

// The next root waits for its role, and goes again if the plan has it no longer.
func TestWithdrawnRoot(t *testing.T) {
	p := newPlanned(t, CAStoreOptions{Lifetime: time.Hour})
	both := Plan{Active: "one", Passive: []string{"two"}}
	p.follow(t, Plan{Active: "one"}, Steady, "one")
	p.follow(t, both, Publishing, "one", "two")
	p.wait(t)
	p.wait(t)
	p.follow(t, both, Publishing, "one", "two")
	p.follow(t, Plan{Active: "one", Passive: []string{"three"}}, Publishing, "one", "three")
	p.follow(t, Plan{Unknown: true}, Publishing, "one", "three")
	p.wait(t)
	p.follow(t, Plan{Unknown: true}, Publishing, "one", "three")
	p.follow(t, Plan{}, Steady, "one")
}

// A root that becomes active at once is published first, and one whose role is given back comes back as a new one.
func TestJumpsOfRoles(t *testing.T) {
	p := newPlanned(t, CAStoreOptions{Lifetime: time.Hour})
	p.follow(t, Plan{Active: "one"}, Steady, "one")
	p.follow(t, Plan{Active: "two"}, Publishing, "one", "two")
	p.wait(t)
	p.follow(t, p.plan, Retiring, "two", "one")
	p.follow(t, Plan{Active: "one", Passive: []string{"two"}}, Retiring, "two", "one")
	p.wait(t)
	p.follow(t, p.plan, Publishing, "two", "one")
	p.wait(t)
	p.follow(t, p.plan, Retiring, "one", "two")
}

// A plan that waits does not wait until the root that signs expires; a root that is active for long is renewed.
func TestPlanBeforeExpiry(t *testing.T) {
	for _, plan := range []Plan{{Active: "one"}, {Active: "one", Passive: []string{"two"}}} {
		p := newPlanned(t, CAStoreOptions{Lifetime: time.Hour, RootLifetime: 100 * time.Hour})
		p.plan = plan
		for range 600 {
			p.clock.advance(time.Hour)
			syncAll(t, p.a, p.b)
			if left := p.a.Current().cert.NotAfter.Sub(p.clock.Now()); left < 10*time.Hour {
				t.Fatalf("%v: the root expires in %s", plan, left)
			}
		}
	}
}

// Certificates that live for longer than configured make the phases longer.
func TestPhasesOfLongCertificates(t *testing.T) {
	p := newPlanned(t, CAStoreOptions{Lifetime: time.Hour})
	p.a.WillIssue(10 * time.Hour)
	p.a.WillIssue(2 * time.Hour)
	syncAll(t, p.a, p.b)
	p.server.requestRotation()
	syncAll(t, p.b, p.a)
	p.clock.advance(phaseLength(10*time.Hour) - time.Second)
	syncAll(t, p.b, p.a)
	checkStatus(t, p.b, Publishing, RoleSigning, RoleNext)
	p.clock.advance(2 * time.Second)
	syncAll(t, p.b, p.a)
	p.clock.advance(phaseLength(10*time.Hour) - 2*time.Second)
	syncAll(t, p.b, p.a)
	checkStatus(t, p.b, Retiring, RoleSigning, RolePrevious)
	p.clock.advance(2 * time.Second)
	syncAll(t, p.b, p.a)
	checkStatus(t, p.b, Steady, RoleSigning)
}

// A root of another trust domain signs identities of that domain. Both domains are trusted while the old root is.
func TestRotationToAnotherTrustDomain(t *testing.T) {
	p := newPlanned(t, CAStoreOptions{Lifetime: time.Hour})
	domains := map[string]string{"two": "next.example"}
	trusted := func(signing string, all ...string) {
		t.Helper()
		for _, k := range []*CAStore{p.a, p.b} {
			if got := k.Current().TrustDomain(); got != signing || k.Status().TrustDomain != signing {
				t.Errorf("trust domain %s signs, want %s", got, signing)
			}
			if got := k.TrustDomains(); !cmp.Equal(got, all) {
				t.Errorf("trusted are %v, want %v", got, all)
			}
		}
	}
	p.follow(t, Plan{Active: "one", TrustDomains: domains}, Steady, "one")
	trusted("cluster.local", "cluster.local")
	p.follow(t, Plan{Active: "one", Passive: []string{"two"}, TrustDomains: domains}, Publishing, "one", "two")
	trusted("cluster.local", "cluster.local", "next.example")
	p.wait(t)
	p.follow(t, Plan{Active: "two", Passive: []string{"one"}, TrustDomains: domains}, Retiring, "two", "one")
	trusted("next.example", "cluster.local", "next.example")
	p.wait(t)
	p.follow(t, Plan{Active: "two", TrustDomains: domains}, Steady, "two")
	trusted("next.example", "cluster.local", "next.example") // of connections that began before

	// Without its object, the root stays: the next one is that of the options.
	p.follow(t, Plan{}, Steady, "two")
	trusted("next.example", "cluster.local", "next.example")
	p.follow(t, Plan{Active: "three"}, Publishing, "two", "three")
	trusted("next.example", "cluster.local", "next.example")
}

// An object in another trust domain than the root in use is another root, also if it has the same name.
func TestObjectInAnotherTrustDomain(t *testing.T) {
	p := newPlanned(t, CAStoreOptions{Lifetime: time.Hour})
	p.follow(t, Plan{Active: "one", TrustDomains: map[string]string{"one": "next.example"}}, Publishing, "", "one")
	p.wait(t)
	p.wait(t)
	p.follow(t, p.plan, Steady, "one")
	p.follow(t, Plan{Active: "one"}, Publishing, "one", "one")
	p.wait(t)
	p.wait(t)
	p.follow(t, p.plan, Steady, "one")
	if got := p.a.Current().TrustDomain(); got != "cluster.local" {
		t.Errorf("trust domain %s", got)
	}
}

// Another trust domain of the operator is that of the next root. Until then, identities stay as they are.
func TestAnotherTrustDomainOfTheOperator(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour, TrustDomain: "next.example"}, clock.Now)
	if got := k.Current().TrustDomain(); got != "cluster.local" {
		t.Errorf("the root signs for %s", got)
	}
	if got := k.TrustDomains(); !cmp.Equal(got, []string{"cluster.local"}) {
		t.Errorf("trusted are %v", got)
	}
	clock.advance(RootLifetime * 9 / 10)
	for range 3 {
		syncAll(t, k)
		clock.advance(phaseLength(time.Hour) + time.Second)
	}
	if got := k.TrustDomains(); !cmp.Equal(got, []string{"cluster.local", "next.example"}) {
		t.Errorf("after the rotation: %v", got)
	}
	if got := k.Current().TrustDomain(); got != "next.example" {
		t.Errorf("after the rotation, the root signs for %s", got)
	}
}
