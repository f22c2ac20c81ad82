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
)

// Pauses between attempts at what the start needs of the API server grow from firstPause to longestPause, and up to a half is added.
// An attempt takes no longer than attemptTimeout.
const (
	firstPause     = 500 * time.Millisecond
	longestPause   = 15 * time.Second
	attemptTimeout = 30 * time.Second
)

// progress is how far the start is. It is safe for concurrent use.
type progress struct {
	mu sync.Mutex
	// waits is what is tried at the moment, and trouble what came of it last time.
	waits   string
	trouble error
	kinds   []watched
	// refused is what came last of listing and watching, by kind.
	refused map[string]error
	// gone is why the API server is away, since then; nil while it is not.
	gone  error
	since time.Time
}

// watched is a kind whose objects are on their way.
type watched struct {
	kind string
	seen func() bool
}

// until tries until it succeeds, fails for good, or the context ends.
func (p *progress) until(ctx context.Context, log *slog.Logger, what string, try func(context.Context) error) error {
	pauses := wait.Backoff{Duration: firstPause, Factor: 2, Jitter: 0.5, Steps: 100, Cap: longestPause}
	defer p.note("", nil)
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
		p.note(what, err)
		pause := pauses.Step()
		log.Warn("the control plane waits for the API server; it will be asked again", "for", what, "error", err, "after", pause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (p *progress) note(waits string, trouble error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits, p.trouble = waits, trouble
}

// permanentError does not go away by trying again.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// ofAPIServer lets errors be that an API server that is away, slow or not set up yet may not have tomorrow; all others are permanent.
func ofAPIServer(err error) error {
	var status apierrors.APIStatus
	var transport *url.Error
	if err == nil || errors.As(err, &status) || errors.As(err, &transport) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &permanentError{err}
}

// reason says why the start is not over, or "".
func (p *progress) reason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits != "" {
		return fmt.Sprintf("waiting for the API server, for %s: %v", p.waits, p.trouble)
	}
	var missing []string
	for _, k := range p.kinds {
		if k.seen() {
			continue
		}
		if err := p.refused[k.kind]; err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", k.kind, err))
		} else {
			missing = append(missing, k.kind)
		}
	}
	switch {
	case len(missing) == 0:
		return ""
	case p.gone != nil:
		return fmt.Sprintf("waiting for the API server, for objects of kind %s: %v", strings.Join(missing, ", "), p.gone)
	default:
		return "the objects of the cluster have not all been seen yet; missing are those of kind " + strings.Join(missing, ", ")
	}
}

// away notes whether the API server is, and why. It returns since when it is or was, and whether that is new.
func (p *progress) away(trouble error) (since time.Time, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if changed = (trouble != nil) != (p.gone != nil); changed && trouble != nil {
		p.since = time.Now()
	}
	p.gone = trouble
	return p.since, changed
}

// watch feeds the flow, and returns when all objects are in. Kinds that the API server does not have yet are waited for.
func (cp *controlPlane) watch(ctx context.Context) error {
	for _, kind := range dialect.Kinds(cp.dialects) {
		name, err := kindOf(cp.client, kind)
		if err != nil {
			return err
		}
		err = cp.progress.until(ctx, cp.Log, "kind "+name, func(ctx context.Context) error {
			informer, err := cp.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
			if err != nil {
				return err
			}
			cp.progress.expect(name, informer.HasSynced)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return engine.Watch(ctx, cp.flow, cp.cache, cp.client.Scheme(), dialect.Kinds(cp.dialects)...)
}

func (p *progress) expect(kind string, seen func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kinds = append(p.kinds, watched{kind, seen})
}

// watchFailed remembers what is wrong with a kind, and leaves the rest to the library: it tries again, and keeps what it has.
func (p *progress) watchFailed(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	description := r.TypeDescription() // *v1.Namespace
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		p.refused = map[string]error{}
	}
	p.refused[description[strings.LastIndexByte(description, '.')+1:]] = err
}

func kindOf(c client.Client, o client.Object) (string, error) {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return "", fmt.Errorf("kind of %T: %w", o, err)
	}
	return gvk.Kind, nil
}
