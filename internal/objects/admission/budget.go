package admission

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// MaxBodies is the maximum size of all reviews that are read or handled at once, in bytes. Further ones wait.
	MaxBodies = 32 << 20
	// MaxBodiesPerSource is the maximum size of those of one address. The largest review fits.
	MaxBodiesPerSource = 16 << 20
	// budgetWait is how long a review waits for others to end.
	budgetWait = 2 * time.Second
)

// errBusy means that too many bytes of reviews are read or handled.
var errBusy = errors.New("too many reviews are handled at once")

// budget counts the bytes of reviews in memory. Anybody can send reviews, and decoding multiplies them.
type budget struct {
	all *semaphore.Weighted

	mu      sync.Mutex
	sources map[string]int64
}

func newBudget() *budget {
	return &budget{all: semaphore.NewWeighted(MaxBodies), sources: map[string]int64{}}
}

// read reads a body. release returns its bytes to the budget; it must be called in any case.
func (b *budget) read(r *http.Request, body io.Reader) (text []byte, release func(), err error) {
	source, _, splitErr := net.SplitHostPort(r.RemoteAddr)
	if splitErr != nil {
		source = r.RemoteAddr
	}
	counted := &countedReader{inner: body, take: func(n int64) error { return b.take(r.Context(), source, n) }}
	text, err = io.ReadAll(counted)
	return text, sync.OnceFunc(func() { b.release(source, counted.taken) }), err
}

// countedReader takes what it reads from a budget.
type countedReader struct {
	inner io.Reader
	take  func(n int64) error
	taken int64
}

// Read implements io.Reader.
func (c *countedReader) Read(into []byte) (int, error) {
	n, err := c.inner.Read(into)
	if n > 0 {
		if err := c.take(int64(n)); err != nil {
			return 0, err
		}
		c.taken += int64(n)
	}
	return n, err
}

func (b *budget) take(ctx context.Context, source string, n int64) error {
	b.mu.Lock()
	fits := b.sources[source]+n <= MaxBodiesPerSource
	if fits {
		b.sources[source] += n
	}
	b.mu.Unlock()
	if !fits {
		return errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, budgetWait)
	defer cancel()
	if b.all.Acquire(ctx, n) != nil {
		b.forget(source, n)
		return errBusy
	}
	return nil
}

func (b *budget) forget(source string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sources[source] -= n; b.sources[source] <= 0 {
		delete(b.sources, source)
	}
}

func (b *budget) release(source string, n int64) {
	b.forget(source, n)
	b.all.Release(n)
}
