package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// CAStore is the CAProvider of the CA in a Secret. It follows changes of the Secret, and rotates the root
// before it expires or on request. Any number of replicas share one Secret: the first one to update it takes a step,
// the others follow. It is safe for concurrent use.
type CAStore struct {
	opts    CAStoreOptions
	policy  policy
	client  kubernetes.Interface
	secrets typedv1.SecretInterface
	records typedv1.ConfigMapInterface
	now     func() time.Time
	metrics *caStoreMetrics

	current atomic.Pointer[CA]
	longest atomic.Int64 // lifetime in the arguments of WillIssue

	mu      sync.Mutex
	secret  *corev1.Secret // last version read
	state   state          // last valid state
	lastErr string         // error of the last version; empty if it is valid
	// reports are those of the record as it was last read, by replica.
	reports map[string]string
	// trusted is the bundle that all pods trust, and since when this replica knows it.
	trusted struct {
		bundle string
		since  time.Time
	}
}

// errUnchanged reports that the Secret is still invalid; the error has been logged before.
var errUnchanged = errors.New("still unusable")

// OpenCAStore reads the CA from the Secret, or makes and stores a new one if the Secret has no data. If several
// replicas start at once, one stores its CA and all use it. An invalid Secret is never overwritten: the error names the
// key to repair. If RecordConfigMap has roots, and the Secret is missing or has none of them, it returns
// ErrOtherAuthority.
func OpenCAStore(ctx context.Context, client kubernetes.Interface, opts CAStoreOptions) (*CAStore, error) {
	return openCAStore(ctx, client, opts, time.Now)
}

func openCAStore(ctx context.Context, client kubernetes.Interface, opts CAStoreOptions,
	now func() time.Time) (*CAStore, error) {
	opts = opts.withLifetimes()
	setDefault(&opts.PollInterval, 2*time.Second)
	if opts.Secret == "" {
		opts.Secret = CASecret
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	k := &CAStore{
		opts: opts, now: now, policy: opts.policy(), client: client,
		secrets: client.CoreV1().Secrets(opts.Namespace), records: client.CoreV1().ConfigMaps(opts.Namespace),
	}
	if err := k.policy.check(); err != nil {
		return nil, err
	}
	k.metrics = newCAStoreMetrics(k, opts.Registerer)
	if err := k.open(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *CAStore) open(ctx context.Context) error {
	known, err := k.readRecord(ctx)
	if err != nil {
		return err
	}
	found, err := k.get(ctx)
	if err != nil {
		return err
	}
	switch {
	case known.replaceRequested(found):
		found, err = k.create(ctx, found, known.request)
	case !HasCA(found) && len(known.roots) > 0:
		what := "is missing"
		if found != nil {
			what = "is empty"
		}
		return k.refuse(ctx, known, what)
	case !HasCA(found):
		found, err = k.create(ctx, found, "")
	case known.request == "": // otherwise, the request is done but still recorded
		s, err := decodeState(found, k.opts.TrustDomain, k.now)
		if err == nil && !known.knows(s.bundle) {
			return k.refuse(ctx, known, "has another root")
		}
	}
	if err != nil {
		return err
	}
	if err := k.load(ctx, found); err != nil {
		return err
	}
	return k.save(ctx, known)
}

// load uses the CA of a Secret. If Anymesh created it and it has expired, it is replaced first.
func (k *CAStore) load(ctx context.Context, secret *corev1.Secret) error {
	err := k.adopt(secret)
	if errors.Is(err, errExpired) && Managed(secret) {
		return k.replaceExpired(ctx, secret, err)
	}
	return err
}

// adopt makes the CA of a Secret the current one.
func (k *CAStore) adopt(secret *corev1.Secret) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.secret = secret
	found, err := decodeState(secret, k.opts.TrustDomain, k.now)
	if err != nil {
		k.lastErr = err.Error()
		return err
	}
	k.lastErr, k.state = "", found
	k.current.Store(found.ca(k.opts.TrustDomain, k.now))
	return nil
}

// Current returns the current CA.
func (k *CAStore) Current() *CA { return k.current.Load() }

// WillIssue makes the phases of rotations long enough for certificates with a lifetime, before the first one is signed.
// Those of CAStoreOptions.Lifetime need no call.
func (k *CAStore) WillIssue(lifetime time.Duration) {
	for {
		known := k.longest.Load()
		if int64(lifetime) <= known || k.longest.CompareAndSwap(known, int64(lifetime)) {
			return
		}
	}
}

// dueSteps takes the steps of the rotation that are due now, without storing them.
func (k *CAStore) dueSteps() (before Phase, after state, steps []string, err error) {
	p := k.policy
	p.leafTTL = max(p.leafTTL, time.Duration(k.longest.Load()))
	if k.opts.Plan != nil {
		p.plan = k.opts.Plan()
	}
	p.trusted = k.trustedLongEnough()
	k.mu.Lock()
	defer k.mu.Unlock()
	after, steps, err = p.advance(k.state, k.now())
	return k.state.phase(), after, steps, err
}

// TrustDomains returns the trust domains of the roots in the bundle, sorted. Names in certificates that differ in these
// only are the same identity. Those of former roots are among them: no new certificate has them, but connections go on
// that began with one. Of a CA that Anymesh does not manage, roots do not name any.
func (k *CAStore) TrustDomains() []string {
	k.mu.Lock()
	s := k.state
	k.mu.Unlock()
	out := []string{k.Current().TrustDomain()}
	if s.managed {
		out = append(out, s.formerDomains...)
		for _, root := range s.bundle.roots {
			if domain := trustDomainOf(root); domain != "" {
				out = append(out, domain)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Bundle returns the current trust bundle.
func (k *CAStore) Bundle() *Bundle { return k.Current().Bundle() }

// sync reads the Secret once and takes the due rotation steps. For an invalid Secret that has not changed it returns
// errUnchanged.
func (k *CAStore) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	known, err := k.readRecord(ctx)
	if err != nil {
		return err
	}
	secret, err := k.get(ctx)
	if err != nil {
		return err
	}
	switch {
	case known.replaceRequested(secret):
		secret, err = k.create(ctx, secret, known.request)
	case !HasCA(secret):
		secret, err = k.restore(ctx, secret)
	}
	if err != nil {
		return err
	}
	k.mu.Lock()
	changed, trouble, before := secret.ResourceVersion != k.secret.ResourceVersion, k.lastErr, k.state
	k.reports = known.reports
	replaced := secret.Annotations[replacedAnnotation] != k.secret.Annotations[replacedAnnotation]
	k.mu.Unlock()
	if changed || before.managed && k.now().After(before.signer.cert.NotAfter) {
		if err := k.load(ctx, secret); err != nil {
			return err
		}
		k.logExternalChange(before)
	} else if trouble != "" {
		return errUnchanged
	}
	if err := k.advance(ctx, secret); err != nil {
		return err
	}
	if err := k.save(ctx, known); err != nil {
		return err
	}
	if replaced {
		return ErrReplaced
	}
	return nil
}

// logExternalChange logs a change by another replica or by a user.
func (k *CAStore) logExternalChange(before state) {
	now := k.state
	if before.signer.cert.Equal(now.signer.cert) && string(before.bundle.PEM()) == string(now.bundle.PEM()) {
		return
	}
	k.opts.Logger.Info("CA changed by another replica or user", now.logAttrs()...)
}

func (k *CAStore) advance(ctx context.Context, secret *corev1.Secret) error {
	before, next, steps, err := k.dueSteps()
	if err != nil {
		return fmt.Errorf("rotation of the root: %w", err)
	}
	if len(steps) == 0 {
		return nil
	}
	changed := secret.DeepCopy()
	if err := next.encode(changed); err != nil {
		return fmt.Errorf("rotation of the root: %w", err)
	}
	// fails if the Secret has changed since it was read
	stored, err := k.secrets.Update(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return nil // another replica was first; the next sync reads its change
	}
	if err != nil {
		return fmt.Errorf("rotation of the root: Secret %s/%s: %w", k.opts.Namespace, k.opts.Secret, err)
	}
	if err := k.adopt(stored); err != nil {
		return err
	}
	if next.phase() != before {
		k.metrics.phaseChanges.WithLabelValues(string(next.phase())).Inc()
	}
	for _, step := range steps {
		k.opts.Logger.Info("CA rotation: "+step, next.logAttrs()...)
	}
	return nil
}

// logAttrs returns log attributes, without keys.
func (s state) logAttrs() []any {
	out := []any{"phase", s.phase(), "signer", fingerprint(s.signer.cert), "roots", len(s.bundle.roots)}
	if !s.phaseEnd.IsZero() {
		out = append(out, "until", s.phaseEnd)
	}
	return out
}
