package identity

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Phase is the phase of the root rotation.
type Phase string

const (
	// Steady means that there is one root, which signs.
	Steady Phase = "Steady"
	// Publishing means that workloads receive the new root, at the latest with their next certificate; the old root
	// still signs.
	Publishing Phase = "Publishing"
	// Retiring means that the new root signs; the old root is trusted until its last certificate has expired.
	Retiring Phase = "Retiring"
)

// Phases lists all phases in the order of a rotation.
var Phases = []Phase{Steady, Publishing, Retiring}

// maxCrossCerts is the maximum number of stored cross certificates: pods that received their roots at most this many
// rotations ago can still verify the control plane.
const maxCrossCerts = 8

// maxFormerDomains is the maximum number of stored trust domains of removed roots.
const maxFormerDomains = 8

// state is the stored state of a CA. Several replicas share it, and each may crash at any time: the next step depends
// only on the state, the policy and the clock.
type state struct {
	signer          root
	chain           []*x509.Certificate // intermediates of the signer, if it is not a root
	next            *root               // set while Publishing
	previous        *x509.Certificate   // set while Retiring
	bundle          *Bundle
	crossCerts      []*x509.Certificate // newest first
	phaseEnd        time.Time           // zero while Steady
	maxLeafTTL      time.Duration       // longest lifetime of certificates that the signer has issued
	rotateRequested bool                // a new root is requested
	managed         bool                // Anymesh rotates the root
	names           rootNames
	formerDomains   []string // trust domains of roots that were removed, latest first
}

// policy is the configuration of the operator, with what objects of users plan.
type policy struct {
	trustDomain      string        // of roots for which the plan has none
	rootTTL, leafTTL time.Duration // lifetimes
	plan             Plan
	trusted          bool // all workloads trust the next root
}

func (s state) phase() Phase {
	switch {
	case s.next != nil:
		return Publishing
	case s.previous != nil:
		return Retiring
	}
	return Steady
}

// phaseLength returns 1.25 times the lifetime of a certificate: all reachable workloads renew within this time, also
// with clock skew.
func phaseLength(lifetime time.Duration) time.Duration { return lifetime + lifetime/4 }

// rotateAt returns the time of the automatic rotation: after four fifths of the root's life, or earlier if long-lived
// certificates need longer phases.
func (s state) rotateAt() time.Time {
	life := s.signer.cert.NotAfter.Sub(s.signer.cert.NotBefore)
	return s.signer.cert.NotAfter.Add(-min(max(life/5, 4*s.maxLeafTTL), life/2))
}

// advance takes the steps that are due, and returns their descriptions. A CA that is not managed does not change.
func (p policy) advance(s state, now time.Time) (state, []string, error) {
	if !s.managed {
		return s, nil, nil
	}
	var steps []string
	did := func(step string) { steps = append(steps, step) }
	if p.leafTTL > s.maxLeafTTL {
		s.maxLeafTTL = p.leafTTL
		did("certificate lifetime increased")
	}
	if trusted := p.trusted && s.phase() == Publishing; now.Before(s.phaseEnd) && !trusted || p.plan.Unknown {
		return s, steps, nil
	}
	var err error
	switch s.phase() {
	case Steady:
		inDomain := p.trustDomainOf(p.plan.Active) == trustDomainOf(s.signer.cert)
		if s.names.signer == "" && p.plan.Active != "" && inDomain {
			s.names.signer = p.plan.Active
			did("the root got the name " + p.plan.Active)
		}
		name, wanted := p.plan.next(s.names.signer)
		wanted = wanted || p.plan.Active != "" && !inDomain // the object was created again
		if !wanted && !s.rotateRequested && now.Before(s.rotateAt()) {
			return s, steps, nil
		}
		if s, err = p.publish(s, name, now); err != nil {
			return s, nil, err
		}
		did("new root published")
	case Publishing:
		switch p.plan.ofNext(s.names, now.Before(s.rotateAt())) {
		case stays:
			return s, steps, nil
		case withdrawn:
			s.bundle, s.next, s.names.next, s.phaseEnd = s.bundle.without(s.next.cert), nil, "", time.Time{}
			did("new root withdrawn: it has not signed")
			return s, steps, nil
		}
		if s, err = p.sign(s, now); err != nil {
			return s, nil, err
		}
		did("new root signs")
	case Retiring:
		if p.plan.keeps(s.names) && now.Before(s.rotateAt()) {
			return s, steps, nil
		}
		s.bundle, s.formerDomains = s.bundle.without(s.previous), s.withFormerDomain(trustDomainOf(s.previous))
		s.previous, s.names.previous, s.phaseEnd = nil, "", time.Time{}
		did("old root removed from the trust bundle")
	}
	return s, steps, nil
}

// publish makes the next root, with a name, and adds it to the bundle.
func (p policy) publish(s state, name string, now time.Time) (state, error) {
	// Certificates do not outlive their root: near its end, workloads renew earlier.
	end := earlier(now.Add(phaseLength(s.maxLeafTTL)), nineTenths(now, s.signer.cert.NotAfter))
	// The root signs when this phase ends, and the next phase may take as long.
	next, err := newRoot(p.trustDomainOf(name), max(p.rootTTL, 3*end.Sub(now)), now)
	if err != nil {
		return s, err
	}
	s.next, s.names.next, s.phaseEnd, s.rotateRequested = &next, name, end, false
	s.bundle = s.bundle.Union(NewBundle(next.cert))
	return s, nil
}

// trustDomainOf returns the trust domain of the root with a name.
func (p policy) trustDomainOf(name string) string {
	return cmp.Or(p.plan.TrustDomains[name], p.trustDomain)
}

// sign makes the next root the one that signs.
func (p policy) sign(s state, now time.Time) (state, error) {
	cross, err := s.signer.crossSign(s.next.cert)
	if err != nil {
		return s, err
	}
	s.crossCerts = slices.DeleteFunc(append([]*x509.Certificate{cross}, s.crossCerts...),
		func(c *x509.Certificate) bool { return now.After(c.NotAfter) })
	s.crossCerts = s.crossCerts[:min(len(s.crossCerts), maxCrossCerts)]
	// Certificates do not outlive their root.
	s.phaseEnd = earlier(now.Add(phaseLength(s.maxLeafTTL)), s.signer.cert.NotAfter)
	s.previous, s.signer, s.next, s.maxLeafTTL = s.signer.cert, *s.next, nil, p.leafTTL
	s.names = rootNames{signer: s.names.next, previous: s.names.signer}
	return s, nil
}

// newState creates the state of a new CA. It also replaces an expired one, whose certificates have all expired, too.
func (p policy) newState(now time.Time) (state, error) {
	r, err := newRoot(p.trustDomain, p.rootTTL, now)
	return state{signer: r, bundle: NewBundle(r.cert), maxLeafTTL: p.leafTTL, managed: true}, err
}

func (p policy) check() error {
	if p.leafTTL <= 0 {
		return fmt.Errorf("certificate lifetime %s: it must be positive", p.leafTTL)
	}
	if p.rootTTL < 10*p.leafTTL {
		return fmt.Errorf("root lifetime %s: it must be at least ten times the certificate lifetime, which is %s",
			p.rootTTL, p.leafTTL)
	}
	return checkTrustDomain(p.trustDomain)
}

// withFormerDomain returns the former trust domains with one more, which may be empty.
func (s state) withFormerDomain(domain string) []string {
	if domain == "" || slices.Contains(s.formerDomains, domain) {
		return s.formerDomains
	}
	out := append([]string{domain}, s.formerDomains...)
	return out[:min(len(out), maxFormerDomains)]
}

// ca returns the CA of the state. A managed one signs in the trust domain of its root, others in that of the operator.
func (s state) ca(trustDomain string, now func() time.Time) *CA {
	if s.managed {
		trustDomain = cmp.Or(trustDomainOf(s.signer.cert), trustDomain)
	}
	return &CA{trustDomain: trustDomain, key: s.signer.key, cert: s.signer.cert, chain: s.chain,
		crossCerts: s.crossCerts, bundle: s.bundle, now: now}
}

// check returns an error if the state is inconsistent.
func (s state) check() error {
	known := func(c *x509.Certificate) bool { return slices.ContainsFunc(s.bundle.roots, c.Equal) }
	switch {
	case s.next != nil && s.previous != nil:
		return errors.New("there is both a next and a previous root")
	case s.next != nil && !known(s.next.cert):
		return errors.New("the next root is not in the bundle")
	case s.phase() != Steady && s.phaseEnd.IsZero():
		return fmt.Errorf("phase %s has no end", s.phase())
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// nineTenths returns the time after nine tenths of the interval from a to b.
func nineTenths(a, b time.Time) time.Time { return a.Add(b.Sub(a) * 9 / 10) }
