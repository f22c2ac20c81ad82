package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Phase says how far the rotation of the root is.
type Phase string

const (
	// Steady is one root, which signs.
	Steady Phase = "Steady"
	// Publishing means that everybody learns the new root with their next certificate; the old one still signs.
	Publishing Phase = "Publishing"
	// Retiring means that the new root signs; the old one is trusted until its last certificate has expired.
	Retiring Phase = "Retiring"
)

// Phases are all of them, in the order in which a rotation goes through them.
var Phases = []Phase{Steady, Publishing, Retiring}

// maxCross bounds the cross certificates that are kept: pods that were told of
// their roots that many rotations ago still get in.
const maxCross = 8

// state is all that is stored of an authority. Several replicas work on one
// state, and each may crash at any time: what comes next depends on nothing but
// this, the policy and the clock.
type state struct {
	signer   root
	chain    []*x509.Certificate // the signer's intermediates, if it is no root
	next     *root               // while Publishing
	previous *x509.Certificate   // while Retiring
	bundle   *Bundle
	cross    []*x509.Certificate // the newest first
	until    time.Time           // the end of the phase, unless it is Steady
	longest  time.Duration       // that the signer's certificates have been valid for
	asked    bool                // someone wants a new root
	managed  bool                // the authority is ours to rotate
}

// policy is what the operator has configured.
type policy struct {
	trustDomain string
	root, leaf  time.Duration // lifetimes
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

// phaseLength is a certificate's lifetime and a quarter: by the end of it
// everybody who can be reached has renewed, even where clocks differ.
func phaseLength(lifetime time.Duration) time.Duration { return lifetime + lifetime/4 }

// rotateAt is when a root is replaced: after four fifths of its life, or earlier
// where certificates live so long that the phases would not fit in.
func (s state) rotateAt() time.Time {
	life := s.signer.cert.NotAfter.Sub(s.signer.cert.NotBefore)
	return s.signer.cert.NotAfter.Add(-min(max(life/5, 4*s.longest), life/2))
}

// advance takes the steps that are due, and tells them; none is no change. An
// authority that is not ours is left alone.
func (p policy) advance(s state, now time.Time) (state, []string, error) {
	if !s.managed {
		return s, nil, nil
	}
	var steps []string
	did := func(step string) { steps = append(steps, step) }
	if p.leaf > s.longest {
		s.longest = p.leaf
		did("certificates have a longer lifetime than before")
	}
	switch s.phase() {
	case Steady:
		if !s.asked && now.Before(s.rotateAt()) {
			return s, steps, nil
		}
		next, err := newRoot(p.trustDomain, p.root, now)
		if err != nil {
			return s, nil, err
		}
		s.next, s.asked = &next, false
		s.bundle = s.bundle.Union(NewBundle(next.cert))
		// Certificates do not outlive their root: near its end everybody comes back sooner, and has to.
		s.until = earlier(now.Add(phaseLength(s.longest)), nearly(now, s.signer.cert.NotAfter))
		did("a new root is published")
	case Publishing:
		if now.Before(s.until) {
			return s, steps, nil
		}
		cross, err := s.signer.vouch(s.next.cert)
		if err != nil {
			return s, nil, err
		}
		s.cross = slices.DeleteFunc(append([]*x509.Certificate{cross}, s.cross...), func(c *x509.Certificate) bool { return now.After(c.NotAfter) })
		s.cross = s.cross[:min(len(s.cross), maxCross)]
		s.until = now.Add(phaseLength(s.longest))
		s.previous, s.signer, s.next, s.longest = s.signer.cert, *s.next, nil, p.leaf
		did("the new root signs")
	case Retiring:
		if now.Before(s.until) {
			return s, steps, nil
		}
		s.bundle = s.bundle.without(s.previous)
		s.previous, s.until = nil, time.Time{}
		did("the old root is no longer trusted")
	}
	return s, steps, nil
}

// restart is for an authority of ours that has expired, and with it all that it
// signed: there is nothing to be careful about any more.
func (p policy) restart(now time.Time) (state, error) {
	r, err := newRoot(p.trustDomain, p.root, now)
	return state{signer: r, bundle: NewBundle(r.cert), longest: p.leaf, managed: true}, err
}

func (p policy) check() error {
	if p.leaf <= 0 {
		return fmt.Errorf("certificate lifetime %s: it must be positive", p.leaf)
	}
	if p.root < 10*p.leaf {
		return fmt.Errorf("root lifetime %s: it must be at least ten times the certificate lifetime, which is %s", p.root, p.leaf)
	}
	return checkTrustDomain(p.trustDomain)
}

// ca is the authority that a state stands for.
func (s state) ca(trustDomain string, now func() time.Time) *CA {
	return &CA{trustDomain: trustDomain, key: s.signer.key, cert: s.signer.cert, chain: s.chain, cross: s.cross, bundle: s.bundle, now: now}
}

// check finds what does not fit together.
func (s state) check() error {
	known := func(c *x509.Certificate) bool { return slices.ContainsFunc(s.bundle.roots, c.Equal) }
	switch {
	case s.next != nil && s.previous != nil:
		return errors.New("there is both a next and a previous root")
	case s.next != nil && !known(s.next.cert):
		return errors.New("the next root is not in the bundle")
	case s.phase() != Steady && s.until.IsZero():
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

// nearly is nine tenths of the way from a to b.
func nearly(a, b time.Time) time.Time { return a.Add(b.Sub(a) * 9 / 10) }
