package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// KeeperOptions say where an authority is kept, and for how long things live. Namespace and TrustDomain are required.
type KeeperOptions struct {
	Namespace, TrustDomain string
	// Lifetime of certificates; DefaultLifetime.
	Lifetime time.Duration
	// RootLifetime of roots, at least ten times Lifetime; RootLifetime.
	RootLifetime time.Duration
	// Every is how often the Secret is read; 2 s.
	Every time.Duration
	// Registerer is where the metrics go; nowhere.
	Registerer prometheus.Registerer
	// Logger is slog.Default().
	Logger *slog.Logger
}

// Keeper is the Authority in the Secret CASecret. It follows the Secret, and
// rotates the root before it expires or when asked to. Any number of replicas
// keep one Secret: whoever is first takes a step, the others follow. It is safe
// for concurrent use.
type Keeper struct {
	opts    KeeperOptions
	policy  policy
	secrets typedv1.SecretInterface
	now     func() time.Time
	metrics *keeperMetrics

	current atomic.Pointer[CA]

	mu      sync.Mutex
	secret  *corev1.Secret // as it was last read
	state   state          // the last good one
	trouble string         // what is wrong with the Secret as it is now
}

// errKnown marks a trouble that was told before.
var errKnown = errors.New("still unusable")

// OpenKeeper reads the authority, or makes a new one and stores it. Of several
// replicas that start at once, one creates the Secret and all use it. A Secret
// that cannot be used is never overwritten: the error says which key to mend.
func OpenKeeper(ctx context.Context, client kubernetes.Interface, opts KeeperOptions) (*Keeper, error) {
	return openKeeper(ctx, client, opts, time.Now)
}

func openKeeper(ctx context.Context, client kubernetes.Interface, opts KeeperOptions, now func() time.Time) (*Keeper, error) {
	setDefault(&opts.Lifetime, DefaultLifetime)
	setDefault(&opts.RootLifetime, RootLifetime)
	setDefault(&opts.Every, 2*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	k := &Keeper{
		opts: opts, now: now, policy: policy{trustDomain: opts.TrustDomain, root: opts.RootLifetime, leaf: opts.Lifetime},
		secrets: client.CoreV1().Secrets(opts.Namespace),
	}
	if err := k.policy.check(); err != nil {
		return nil, err
	}
	k.metrics = newKeeperMetrics(k, opts.Registerer)
	found, err := k.secrets.Get(ctx, CASecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		found, err = k.create(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", opts.Namespace, CASecret, err)
	}
	if err := k.take(ctx, found); err != nil {
		return nil, err
	}
	return k, nil
}

// take adopts what a Secret holds; a root of ours that has expired is replaced first.
func (k *Keeper) take(ctx context.Context, secret *corev1.Secret) error {
	err := k.adopt(secret)
	if errors.Is(err, errExpired) && secret.Labels[managedLabel] == managedByUs {
		return k.replace(ctx, secret, err)
	}
	return err
}

// create stores a new authority, unless another replica is first.
func (k *Keeper) create(ctx context.Context) (*corev1.Secret, error) {
	fresh, err := k.policy.restart(k.now())
	if err != nil {
		return nil, err
	}
	secret, err := newSecret(k.opts.Namespace, fresh)
	if err != nil {
		return nil, err
	}
	stored, err := k.secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return k.secrets.Get(ctx, CASecret, metav1.GetOptions{})
	}
	return stored, err
}

// replace puts a new root in the place of one of ours that has expired.
func (k *Keeper) replace(ctx context.Context, expired *corev1.Secret, why error) error {
	fresh, err := k.policy.restart(k.now())
	if err != nil {
		return err
	}
	k.opts.Logger.Error("the root has expired and is replaced; replace pods that were injected before, too", "error", why)
	secret, err := newSecret(k.opts.Namespace, fresh)
	if err != nil {
		return err
	}
	secret.ResourceVersion = expired.ResourceVersion
	stored, err := k.secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) { // another replica was first
		stored, err = k.secrets.Get(ctx, CASecret, metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("Secret %s/%s: %w", k.opts.Namespace, CASecret, err)
	}
	return k.adopt(stored)
}

// adopt makes what a Secret holds the authority.
func (k *Keeper) adopt(secret *corev1.Secret) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.secret = secret
	found, err := stateOf(secret, k.opts.TrustDomain, k.now)
	if err != nil {
		k.trouble = err.Error()
		return err
	}
	k.trouble, k.state = "", found
	k.current.Store(found.ca(k.opts.TrustDomain, k.now))
	return nil
}

// Current is the CA of the moment.
func (k *Keeper) Current() *CA { return k.current.Load() }

// Bundle is whom the mesh trusts at the moment.
func (k *Keeper) Bundle() *Bundle { return k.Current().Bundle() }

// Run follows the Secret and takes steps when they are due, until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	ticks := time.NewTicker(k.opts.Every)
	defer ticks.Stop()
	for {
		err := k.turn(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errKnown):
			k.metrics.turns.WithLabelValues("failed").Inc()
		case err != nil:
			k.metrics.turns.WithLabelValues("failed").Inc()
			k.opts.Logger.Warn("the authority in the Secret cannot be followed; the last good one serves on", "error", err)
		default:
			k.metrics.turns.WithLabelValues("ok").Inc()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// turn reads the Secret once, and does what is due. A Secret that is as bad as it was is not told again.
func (k *Keeper) turn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	secret, err := k.secrets.Get(ctx, CASecret, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("Secret %s/%s: %w", k.opts.Namespace, CASecret, err)
	}
	k.mu.Lock()
	changed, trouble, before := secret.ResourceVersion != k.secret.ResourceVersion, k.trouble, k.state
	k.mu.Unlock()
	if changed || before.managed && k.now().After(before.signer.cert.NotAfter) {
		if err := k.take(ctx, secret); err != nil {
			return err
		}
		k.tell(before)
	} else if trouble != "" {
		return errKnown
	}
	return k.step(ctx, secret)
}

// tell logs what another replica, or a person, has changed.
func (k *Keeper) tell(before state) {
	now := k.state
	if before.signer.cert.Equal(now.signer.cert) && string(before.bundle.PEM()) == string(now.bundle.PEM()) {
		return
	}
	k.opts.Logger.Info("the authority was changed elsewhere", now.tell()...)
}

func (k *Keeper) step(ctx context.Context, secret *corev1.Secret) error {
	k.mu.Lock()
	before := k.state.phase()
	next, steps, err := k.policy.advance(k.state, k.now())
	k.mu.Unlock()
	if err != nil {
		return fmt.Errorf("rotation of the root: %w", err)
	}
	if len(steps) == 0 {
		return nil
	}
	changed := secret.DeepCopy()
	if err := next.store(changed); err != nil {
		return fmt.Errorf("rotation of the root: %w", err)
	}
	stored, err := k.secrets.Update(ctx, changed, metav1.UpdateOptions{}) // on the version that was read, or not at all
	if apierrors.IsConflict(err) {
		return nil // another replica was first; the next turn sees what it did
	}
	if err != nil {
		return fmt.Errorf("rotation of the root: Secret %s/%s: %w", k.opts.Namespace, CASecret, err)
	}
	if err := k.adopt(stored); err != nil {
		return err
	}
	if next.phase() != before {
		k.metrics.steps.WithLabelValues(string(next.phase())).Inc()
	}
	for _, step := range steps {
		k.opts.Logger.Info("authority: "+step, next.tell()...)
	}
	return nil
}

// tell is a state for the log: no key is in it.
func (s state) tell() []any {
	out := []any{"phase", s.phase(), "signer", fingerprint(s.signer.cert), "roots", len(s.bundle.roots)}
	if !s.until.IsZero() {
		out = append(out, "until", s.until)
	}
	return out
}
