package cache_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

// another returns a replica with the same members, which are not configured yet.
func (f *fleet) another(options cache.Options) *fleet {
	next := *f
	next.Cache = cache.New(options)
	f.t.Cleanup(next.Close)
	return &next
}

// front is an address of replicas. Its requests go to one of them.
type front struct {
	server *httptest.Server
	// gate is write-locked while no bytes are passed on.
	gate sync.RWMutex
	held bool

	requests atomic.Int64

	mutex   sync.Mutex
	replica *fleet // nil if there is none
	open    map[*passing]bool
}

// passing is the response to a request.
type passing struct {
	http.ResponseWriter
	front  *front
	broken atomic.Bool
	cancel context.CancelFunc
}

func newFront(t testing.TB, replica *fleet) *front {
	f := &front{replica: replica, open: map[*passing]bool{}}
	f.server = httptest.NewServer(f)
	t.Cleanup(func() {
		f.release()
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f
}

func (f *front) client() kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(&rest.Config{Host: f.server.URL, QPS: -1, Transport: f.server.Client().Transport})
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	p := &passing{ResponseWriter: w, front: f, cancel: cancel}
	f.requests.Add(1)
	f.mutex.Lock()
	replica := f.replica
	f.open[p] = true
	f.mutex.Unlock()
	if replica == nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	replica.ServeHTTP(p, r.WithContext(ctx))
	f.mutex.Lock()
	delete(f.open, p)
	f.mutex.Unlock()
	if p.broken.Load() {
		panic(http.ErrAbortHandler)
	}
}

// point breaks all requests, and sends the next ones to a replica.
func (f *front) point(replica *fleet) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.replica = replica
	for p := range f.open {
		p.broken.Store(true)
		p.cancel()
	}
}

// replace is point for the clients of a replica that ends.
func (f *front) replace(old, replica *fleet) {
	f.mutex.Lock()
	ends := f.replica == old
	f.mutex.Unlock()
	if ends {
		f.point(replica)
	}
}

// hold passes no bytes on, as to clients that do not read, until release.
func (f *front) hold() {
	if !f.held {
		f.gate.Lock()
		f.held = true
	}
}

func (f *front) release() {
	if f.held {
		f.gate.Unlock()
		f.held = false
	}
}

func (p *passing) Write(text []byte) (int, error) {
	p.front.gate.RLock()
	defer p.front.gate.RUnlock()
	if p.broken.Load() {
		return 0, io.ErrClosedPipe
	}
	return p.ResponseWriter.Write(text)
}

func (p *passing) Flush() {
	p.front.gate.RLock()
	defer p.front.gate.RUnlock()
	if !p.broken.Load() {
		p.ResponseWriter.(http.Flusher).Flush()
	}
}
