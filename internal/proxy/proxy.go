package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/connect"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/session"
)

// Proxy is a running proxy.
type Proxy struct {
	log      *slog.Logger
	ctx      context.Context
	store    *object.Store
	sessions *session.Manager
	connect  *connect.Connector
	running  sync.WaitGroup

	mu        sync.Mutex // held during changes
	listeners map[string]*listener
}

// New returns a proxy without objects. It runs until the context ends; Wait waits for its end.
func New(ctx context.Context, log *slog.Logger) *Proxy {
	c := &connect.Connector{}
	return &Proxy{
		log: log, ctx: ctx, store: object.NewStore(), connect: c, sessions: &session.Manager{Connector: c},
		listeners: map[string]*listener{},
	}
}

// Wait waits until all listeners and sessions have ended, after the context has.
func (p *Proxy) Wait() { p.running.Wait() }

// Apply adds the objects of a configuration.
func (p *Proxy) Apply(c *config.Config) error {
	for _, one := range c.Clusters {
		if one.Name == "" {
			return fmt.Errorf("Cannot add cluster: Property name is required")
		}
		if err := p.store.AddCluster(one); err != nil {
			return err
		}
	}
	for _, one := range c.RuleLists {
		if err := p.store.AddRuleList(one); err != nil {
			return err
		}
	}
	for _, one := range c.Rules {
		if one.Name == "" {
			return fmt.Errorf("Cannot add rule: Property name is required")
		}
		if err := p.store.AddRule(one); err != nil {
			return err
		}
	}
	for _, one := range c.Routes {
		if one.Name == "" {
			return fmt.Errorf("Cannot add route: Property name is required")
		}
		if err := p.store.AddRoute(one); err != nil {
			return err
		}
	}
	for _, one := range c.Listeners {
		if err := p.AddListener(one); err != nil {
			return err
		}
	}
	return nil
}

// AddListener adds a listener. It listens when the method returns.
func (p *Proxy) AddListener(l config.Listener) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.addListener(l); err != nil {
		return fmt.Errorf("Cannot add listener: %w", err)
	}
	return nil
}

func (p *Proxy) addListener(l config.Listener) error {
	if p.listeners[l.Name] != nil {
		return fmt.Errorf("Listener %q already defined", l.Name)
	}
	rules, err := p.store.AddRules(l.Name, l.Rules)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(p.ctx)
	one := &listener{proxy: p, spec: l, rules: rules, ctx: ctx, cancel: cancel}
	if err := one.listen(); err != nil {
		cancel()
		p.store.ReleaseRules(rules, true)
		return err
	}
	p.listeners[l.Name] = one
	return nil
}

// Listeners returns the names of all listeners.
func (p *Proxy) Listeners() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := make([]string, 0, len(p.listeners))
	for name := range p.listeners {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
