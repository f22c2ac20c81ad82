package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"anymesh.dev/anymesh/internal/proxy/accesslog"
	"anymesh.dev/anymesh/internal/proxy/api"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/connect"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/session"
	"anymesh.dev/anymesh/internal/proxy/tracing"
)

// Proxy is a running proxy.
type Proxy struct {
	// Level is the level of the log, which the API may change; may be nil.
	Level *slog.LevelVar
	// Version is what the API tells.
	Version string

	log      *slog.Logger
	ctx      context.Context
	store    *object.Store
	sessions *session.Manager
	connect  *connect.Connector
	running  sync.WaitGroup
	access   atomic.Pointer[accesslog.Log]  // nil without an access log
	tracer   atomic.Pointer[tracing.Tracer] // nil without traces
	api      http.Handler

	captures captures
	stopped  stoppedUDP
	routes   sync.Map // of routeStats by config.RouteMetrics

	admin     config.Admin
	mu        sync.Mutex // held during changes
	listeners map[string]*listener
	retiring  bool // guarded by mu
}

// New returns a proxy without objects. It runs until the context ends; Wait waits for its end.
func New(ctx context.Context, log *slog.Logger) *Proxy {
	c := &connect.Connector{Log: log}
	p := &Proxy{
		log: log, ctx: ctx, store: object.NewStore(), connect: c, sessions: &session.Manager{Connector: c},
		listeners: map[string]*listener{}, stopped: stoppedUDP{},
	}
	p.captures = captures{proxy: p, ports: map[int]*capturedPort{}}
	p.sessions.Ended = p.sessionEnded
	p.store.Context, p.store.Check = ctx, c.Check
	p.api = api.Handler(backend{p})
	return p
}

// Wait waits until all listeners and sessions have ended, after the context has.
func (p *Proxy) Wait() {
	p.running.Wait()
	if log := p.access.Swap(nil); log != nil {
		log.Close()
	}
	if t := p.tracer.Swap(nil); t != nil {
		t.Close()
	}
}

// Apply adds the objects of a configuration, before the proxy has others.
func (p *Proxy) Apply(c *config.Config) error { return p.Replace(c) }
