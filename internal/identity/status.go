package identity

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Status is the public status of a CAStore, without keys.
type Status struct {
	// TrustDomain is that of the root that signs.
	TrustDomain string `json:"trustDomain"`
	Phase       Phase  `json:"phase"`
	// Until is the end of the phase, nil while Steady.
	Until *time.Time `json:"until,omitempty"`
	// Unconfirmed is the number of pods that have not confirmed the new root yet, which it waits for until Until. Nil
	// means that it is not known.
	Unconfirmed *int `json:"unconfirmed,omitempty"`
	// RotateAt is the time of the next automatic rotation, nil if the CA is not managed.
	RotateAt *time.Time `json:"rotateAt,omitempty"`
	// Managed reports whether Anymesh rotates the root. A CA that a user has put into the Secret is not managed.
	Managed bool `json:"managed"`
	// Lifetime of certificates, in seconds.
	LifetimeSeconds int64  `json:"lifetimeSeconds"`
	Roots           []Root `json:"roots"`
	// LastError is the error of the current Secret, empty if it is valid. The last valid CA stays in use; Roots is empty
	// if there never was one.
	LastError string `json:"lastError,omitempty"`
}

// Role is the role of a root.
type Role string

// Roles of a root. Trusted roots were added to the bundle by a user, or are above an intermediate CA.
const (
	RoleSigning  Role = "signing"
	RoleNext     Role = "next"
	RolePrevious Role = "previous"
	RoleTrusted  Role = "trusted"
)

// Roles lists all roles.
var Roles = []Role{RoleSigning, RoleNext, RolePrevious, RoleTrusted}

// Root is a root in the trust bundle.
type Root struct {
	Role        Role      `json:"role"`
	Name        string    `json:"name,omitempty"` // in the plan
	Subject     string    `json:"subject"`
	Fingerprint string    `json:"fingerprint"` // SHA-256 of the certificate, hex
	NotBefore   time.Time `json:"notBefore"`
	NotAfter    time.Time `json:"notAfter"`
}

// Status returns the current status.
func (k *CAStore) Status() Status {
	k.mu.Lock()
	s, trouble := k.state, k.lastErr
	k.mu.Unlock()
	out := Status{
		TrustDomain: k.Current().TrustDomain(), Phase: s.phase(), Managed: s.managed,
		LifetimeSeconds: int64(k.opts.Lifetime / time.Second), LastError: trouble,
	}
	if !s.phaseEnd.IsZero() {
		out.Until = &s.phaseEnd
	}
	if at := s.rotateAt(); s.managed && s.phase() == Steady {
		out.RotateAt = &at
	}
	if of := k.trust(); of.known {
		out.Unconfirmed = &of.missing
	}
	for _, role := range Roles {
		for _, c := range s.bundle.roots {
			if s.role(c) == role {
				out.Roots = append(out.Roots, Root{Role: role, Name: s.names.of(role), Subject: c.Subject.String(),
					Fingerprint: fingerprint(c), NotBefore: c.NotBefore, NotAfter: c.NotAfter})
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

type caStoreMetrics struct {
	reads        *prometheus.CounterVec // result
	phaseChanges *prometheus.CounterVec // phase

	store          *CAStore
	phase, expires *prometheus.Desc
}

func newCAStoreMetrics(k *CAStore, r prometheus.Registerer) *caStoreMetrics {
	m := &caStoreMetrics{
		store: k,
		reads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_identity_ca_reads_total",
			Help: "Reads of the CA Secret, by result: ok, failed. After a failed read the last valid CA stays in use.",
		}, []string{"result"}),
		phaseChanges: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_identity_rotation_phase_changes_total",
			Help: "Phase changes of root rotations that this replica performed, by new phase.",
		}, []string{"phase"}),
		phase: prometheus.NewDesc("anymesh_identity_rotation_phase",
			"1 for the current phase of the root rotation, 0 for the others.", []string{"phase"}, nil),
		expires: prometheus.NewDesc("anymesh_identity_root_expiry_timestamp_seconds",
			"Expiry of the first root of each role to expire, in Unix time.", []string{"role"}, nil),
	}
	if r != nil {
		r.MustRegister(m.reads, m.phaseChanges, m)
	}
	return m
}

// Describe implements prometheus.Collector.
func (m *caStoreMetrics) Describe(out chan<- *prometheus.Desc) { out <- m.phase; out <- m.expires }

// Collect implements prometheus.Collector.
func (m *caStoreMetrics) Collect(out chan<- prometheus.Metric) {
	if m.store.Current() == nil {
		return // not opened yet
	}
	s := m.store.Status()
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
