package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/identity"
)

// At the start, requests to the API server are retried with exponential backoff from retryBaseDelay to retryMaxDelay,
// with up to 50 % jitter. attemptTimeout bounds each attempt.
const (
	retryBaseDelay = 500 * time.Millisecond
	retryMaxDelay  = 15 * time.Second
	attemptTimeout = 30 * time.Second
)

// progress is the state of the start. It is safe for concurrent use.
type progress struct {
	mu sync.Mutex
	// waitingFor is the pending step, lastErr the error of its last attempt.
	waitingFor string
	lastErr    error
	kinds      []watchedKind
	// watchErrors is the last list or watch error, by kind.
	watchErrors map[string]error
	// unreachable is the error of the unreachable API server, with its start time; nil if the API server is reachable.
	unreachable error
	since       time.Time
}

// watchedKind is a watched kind.
type watchedKind struct {
	kind   string
	synced func() bool
}

// retry calls try until it succeeds, returns a permanent error, or the context ends.
func (p *progress) retry(ctx context.Context, log *slog.Logger, what string, try func(context.Context) error) error {
	pauses := wait.Backoff{Duration: retryBaseDelay, Factor: 2, Jitter: 0.5, Steps: 100, Cap: retryMaxDelay}
	defer p.setWaiting("", nil)
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := try(attempt)
		cancel()
		var permanent *permanentError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || errors.As(err, &permanent):
			return fmt.Errorf("%s: %w", what, err)
		}
		p.setWaiting(what, err)
		pause := pauses.Step()
		if errors.Is(err, identity.ErrOtherAuthority) {
			log.Error("waiting for the certificate authority; retrying", "error", err, "after", pause)
		} else {
			log.Warn("waiting for the API server; retrying", "for", what, "error", err, "after", pause)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (p *progress) setWaiting(what string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waitingFor, p.lastErr = what, err
}

// permanentError is an error that a retry cannot fix.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// classifyError wraps an error as permanent, unless it can result from an API server that is unreachable, slow or not
// set up yet, or is mended by a user who restores or replaces the certificate authority.
func classifyError(err error) error {
	var status apierrors.APIStatus
	var transport *url.Error
	if err == nil || errors.As(err, &status) || errors.As(err, &transport) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, identity.ErrOtherAuthority) {
		return err
	}
	return &permanentError{err}
}

// notReadyReason returns the reason why the start is not complete, or "".
func (p *progress) notReadyReason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(p.lastErr, identity.ErrOtherAuthority) {
		return p.lastErr.Error()
	}
	if p.waitingFor != "" {
		return fmt.Sprintf("waiting for the API server, for %s: %v", p.waitingFor, p.lastErr)
	}
	var missing []string
	for _, k := range p.kinds {
		if k.synced() {
			continue
		}
		if err := p.watchErrors[k.kind]; err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", k.kind, err))
		} else {
			missing = append(missing, k.kind)
		}
	}
	switch {
	case len(missing) == 0:
		return ""
	case p.unreachable != nil:
		return fmt.Sprintf("waiting for the API server, for objects of kind %s: %v", strings.Join(missing, ", "),
			p.unreachable)
	default:
		return "the objects of the cluster have not all been seen yet; missing are those of kind " +
			strings.Join(missing, ", ")
	}
}

// setUnreachable records whether the API server is unreachable. It returns the start time of the outage, and whether
// the state changed.
func (p *progress) setUnreachable(err error) (since time.Time, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if changed = (err != nil) != (p.unreachable != nil); changed && err != nil {
		p.since = time.Now()
	}
	p.unreachable = err
	return p.since, changed
}

// watch connects the informer cache to the engine, and returns when the engine has all objects. It waits for kinds
// whose CRD is missing, unless they are optional: these are watched as soon as the cluster has them.
func (cp *controlPlane) watch(ctx context.Context) error {
	kinds, optional := dialect.SplitKinds(cp.dialects)
	var later []client.Object
	for _, kind := range optional {
		err := cp.progress.retry(ctx, cp.Log, "optional kinds", func(context.Context) error {
			has, err := cp.served(kind)
			if has {
				kinds = append(kinds, kind)
			} else if err == nil {
				later = append(later, kind)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	go cp.watchLater(ctx, later)
	for _, kind := range kinds {
		name, err := kindOf(cp.client, kind)
		if err != nil {
			return err
		}
		err = cp.progress.retry(ctx, cp.Log, "kind "+name, func(ctx context.Context) error {
			informer, err := cp.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
			if err != nil {
				return err
			}
			cp.progress.addKind(name, informer.HasSynced)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return engine.Watch(ctx, cp.engine, cp.cache, cp.client.Scheme(), kinds...)
}

func (p *progress) addKind(kind string, seen func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kinds = append(p.kinds, watchedKind{kind, seen})
}

// watchFailed records a list or watch error of a kind. client-go retries and keeps the cached objects.
func (p *progress) watchFailed(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	description := r.TypeDescription() // *v1.Namespace
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watchErrors == nil {
		p.watchErrors = map[string]error{}
	}
	p.watchErrors[description[strings.LastIndexByte(description, '.')+1:]] = err
}

func kindOf(c client.Client, o client.Object) (string, error) {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return "", fmt.Errorf("kind of %T: %w", o, err)
	}
	return gvk.Kind, nil
}
