package identity

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Status is what may be told of an authority: no key, and nothing that leads to one.
type Status struct {
	TrustDomain string `json:"trustDomain"`
	Phase       Phase  `json:"phase"`
	// Until is the end of the phase, nil while Steady.
	Until *time.Time `json:"until,omitempty"`
	// RotateAt is when the next rotation begins by itself, nil where the authority is not ours to rotate.
	RotateAt *time.Time `json:"rotateAt,omitempty"`
	// Managed says whether we rotate the root; one that somebody else has put into the Secret is left alone.
	Managed bool `json:"managed"`
	// Lifetime of certificates, in seconds.
	LifetimeSeconds int64  `json:"lifetimeSeconds"`
	Roots           []Root `json:"roots"`
	// Trouble is why the Secret as it is now cannot be used; then the last good one serves on.
	Trouble string `json:"trouble,omitempty"`
}

// Role is what a root is there for.
type Role string

// The roles of a root. Trusted are those that somebody else has added to the bundle, or that are above an intermediate.
const (
	RoleSigning  Role = "signing"
	RoleNext     Role = "next"
	RolePrevious Role = "previous"
	RoleTrusted  Role = "trusted"
)

// Roles are all of them.
var Roles = []Role{RoleSigning, RoleNext, RolePrevious, RoleTrusted}

// Root is a root that the mesh trusts.
type Root struct {
	Role        Role      `json:"role"`
	Subject     string    `json:"subject"`
	Fingerprint string    `json:"fingerprint"` // SHA-256 of the certificate, hex
	NotBefore   time.Time `json:"notBefore"`
	NotAfter    time.Time `json:"notAfter"`
}

// Status tells how the authority is.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	s, trouble := k.state, k.trouble
	k.mu.Unlock()
	out := Status{
		TrustDomain: k.opts.TrustDomain, Phase: s.phase(), Managed: s.managed, LifetimeSeconds: int64(k.opts.Lifetime / time.Second), Trouble: trouble,
	}
	if !s.until.IsZero() {
		out.Until = &s.until
	}
	if at := s.rotateAt(); s.managed && s.phase() == Steady {
		out.RotateAt = &at
	}
	for _, role := range Roles {
		for _, c := range s.bundle.roots {
			if s.role(c) == role {
				out.Roots = append(out.Roots, Root{Role: role, Subject: c.Subject.String(), Fingerprint: fingerprint(c), NotBefore: c.NotBefore, NotAfter: c.NotAfter})
			}
		}
	}
	return out
}

func (s state) role(c *x509.Certificate) Role {
	switch {
	case c.Equal(s.signer.cert):
		return RoleSigning
	case s.next != nil && c.Equal(s.next.cert):
		return RoleNext
	case s.previous != nil && c.Equal(s.previous):
		return RolePrevious
	}
	return RoleTrusted
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

type keeperMetrics struct {
	turns *prometheus.CounterVec // result
	steps *prometheus.CounterVec // phase

	keeper         *Keeper
	phase, expires *prometheus.Desc
}

func newKeeperMetrics(k *Keeper, r prometheus.Registerer) *keeperMetrics {
	m := &keeperMetrics{
		keeper: k,
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_identity_authority_reads_total", Help: "Readings of the Secret with the authority, by result: ok, failed. After a failed one the last good authority serves on.",
		}, []string{"result"}),
		steps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_identity_rotation_steps_total", Help: "Steps of rotations of the root that this replica has taken, by the phase that they led to.",
		}, []string{"phase"}),
		phase: prometheus.NewDesc("anymesh_identity_rotation_phase", "1 for the phase that the rotation of the root is in.", []string{"phase"}, nil),
		expires: prometheus.NewDesc("anymesh_identity_root_expiry_timestamp_seconds",
			"When the first root of each role expires, in Unix time.", []string{"role"}, nil),
	}
	if r != nil {
		r.MustRegister(m.turns, m.steps, m)
	}
	return m
}

// Describe is for prometheus.Collector.
func (m *keeperMetrics) Describe(out chan<- *prometheus.Desc) { out <- m.phase; out <- m.expires }

// Collect is for prometheus.Collector.
func (m *keeperMetrics) Collect(out chan<- prometheus.Metric) {
	if m.keeper.Current() == nil {
		return // still opening
	}
	s := m.keeper.Status()
	for _, p := range Phases {
		is := 0.0
		if p == s.Phase {
			is = 1
		}
		out <- prometheus.MustNewConstMetric(m.phase, prometheus.GaugeValue, is, string(p))
	}
	first := map[Role]time.Time{}
	for _, r := range s.Roots {
		if t, ok := first[r.Role]; !ok || r.NotAfter.Before(t) {
			first[r.Role] = r.NotAfter
		}
	}
	for role, t := range first {
		out <- prometheus.MustNewConstMetric(m.expires, prometheus.GaugeValue, float64(t.Unix()), string(role))
	}
}
