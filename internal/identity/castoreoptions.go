package identity

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
)

// CAStoreOptions configures a CAStore. Namespace and TrustDomain are required.
type CAStoreOptions struct {
	Namespace, TrustDomain string
	// Secret is the name of the Secret. The default is CASecret.
	Secret string
	// Lifetime of certificates. The default is DefaultLifetime.
	Lifetime time.Duration
	// RootLifetime of roots, at least ten times Lifetime. The default is RootLifetime.
	RootLifetime time.Duration
	// PollInterval is the interval of looking whether a step of the rotation is due, and of reading the Secret again after
	// an error. The default is 2 s.
	PollInterval time.Duration
	// Plan returns the plan of users for the roots. The default has none. Run calls it, and nothing before.
	Plan func() Plan
	// Trust returns what this replica knows of the pods that have to trust a bundle, and whether it knows all of them.
	// With it, a new root signs as soon as all pods trust it; without it, after the time of its phase.
	Trust func(*Bundle) (of Trust, known bool)
	// Replica is the name of this replica, unique among those that share the Secret. It is required with Trust.
	Replica string
	// Read is called after each read of the Secret, which follows each of its changes. The default does nothing.
	Read func()
	// Registerer registers the metrics. The default registers none.
	Registerer prometheus.Registerer
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Unrecorded is for a CA whose clients get its roots anew when they change: a lost Secret may then be followed by a
	// new CA, and RecordConfigMap is not used.
	Unrecorded bool
	// Recorder records that a deleted Secret was written again. The default records none.
	Recorder events.EventRecorder
}

// Validate returns an error if the lifetimes or the trust domain cannot be used. OpenCAStore calls it, too.
func (o CAStoreOptions) Validate() error { return o.withLifetimes().policy().check() }

func (o CAStoreOptions) withLifetimes() CAStoreOptions {
	setDefault(&o.Lifetime, DefaultLifetime)
	setDefault(&o.RootLifetime, RootLifetime)
	return o
}

func (o CAStoreOptions) policy() policy {
	return policy{trustDomain: o.TrustDomain, rootTTL: o.RootLifetime, leafTTL: o.Lifetime}
}
