package proxy

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"anymesh.dev/anymesh/internal/proxy/bucket"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/object"
)

// AddListener adds a listener. It listens when the method returns.
func (p *Proxy) AddListener(l config.Listener) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listeners[l.Name] != nil {
		return fmt.Errorf("Cannot add listener: Listener %q already defined", l.Name)
	}
	if err := p.addListener(l, l.Rules); err != nil {
		return fmt.Errorf("Cannot add listener: %w", err)
	}
	p.listeners[l.Name].begin()
	return nil
}

// addListener adds a listener, which has not begun. It requires the lock.
func (p *Proxy) addListener(l config.Listener, with config.RulesRef) error {
	rules, err := p.store.AddRules(l.Name, with)
	if err != nil {
		return err
	}
	one, err := p.listen(l, rules)
	if err != nil {
		p.store.ReleaseRules(rules, true)
		return err
	}
	p.listeners[l.Name] = one
	return nil
}

// listen binds the socket of a listener.
func (p *Proxy) listen(l config.Listener, rules *object.Slot[object.RuleList]) (*listener, error) {
	ctx, cancel := context.WithCancel(p.ctx)
	one := &listener{proxy: p, spec: l, ctx: ctx, cancel: cancel, begun: make(chan struct{}), streams: h2.Server{Limits: h2.DefaultLimits}}
	one.rules.Store(rules)
	one.track.Store(int64(l.Options.Track))
	one.rate.Store(bucket.New(l.Options.ConnectionRate, time.Now()))
	if err := one.listen(); err != nil {
		cancel()
		return nil, fmt.Errorf("listener %q: %w", l.Name, err)
	}
	if p.retiring {
		one.retire()
	}
	return one, nil
}

// UpdateListener replaces a listener. It keeps its socket if the spec is the same. Sessions go on.
func (p *Proxy) UpdateListener(l config.Listener) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.listeners[l.Name]
	if old == nil {
		return fmt.Errorf("Cannot update listener: Unknown listener %q", l.Name)
	}
	if err := p.updateListener(old, l); err != nil {
		return fmt.Errorf("Cannot update listener: %w", err)
	}
	return nil
}

// updateListener requires the lock.
func (p *Proxy) updateListener(old *listener, l config.Listener) error {
	rules, err := p.store.AddRules(l.Name, l.Rules)
	if err != nil {
		return err
	}
	if sameSocket(old.current().Spec, l.Spec) {
		if !reflect.DeepEqual(old.current().Spec, l.Spec) {
			p.captures.update(old, &l.Spec)
		}
		if !reflect.DeepEqual(old.current().Options.ConnectionRate, l.Options.ConnectionRate) {
			old.rate.Store(bucket.New(l.Options.ConnectionRate, time.Now()))
		}
		old.mu.Lock()
		old.spec.Spec.Captured, old.spec.Rules, old.spec.Options = l.Spec.Captured, l.Rules, l.Options // the rest is in use
		old.mu.Unlock()
		old.track.Store(int64(l.Options.Track))
		p.store.ReleaseRules(old.rules.Swap(rules), true)
		return nil
	}
	clash := clashing(old.current().Spec, l.Spec)
	if clash {
		old.closeSocket()
	}
	one, err := p.listen(l, rules)
	if err != nil {
		p.store.ReleaseRules(rules, true)
		if !clash {
			return err
		}
		again, failed := p.listen(old.current(), old.rules.Load())
		if failed != nil {
			delete(p.listeners, l.Name)
			return errors.Join(err, failed)
		}
		p.listeners[l.Name] = again
		again.begin()
		return err
	}
	one.begin()
	p.listeners[l.Name] = one
	// Requests on connections of the old one follow the new rules until they have ended.
	p.store.ReleaseRules(old.rules.Swap(rules), true)
	old.stop()
	return nil
}

// sameSocket reports whether a listener with one spec can go on with the other.
func sameSocket(a, b config.ListenerSpec) bool {
	if a.Captured != nil && b.Captured != nil && a.Port == b.Port {
		a.Captured = b.Captured
	}
	return reflect.DeepEqual(a, b)
}

// DeleteListener closes a listener and its sessions, if recursive or if its options say so.
func (p *Proxy) DeleteListener(name string, recursive bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.listeners[name]
	if l == nil {
		return fmt.Errorf("Cannot delete listener: Unknown listener %q", name)
	}
	p.removeListener(l, recursive)
	return nil
}

// removeListener requires the lock.
func (p *Proxy) removeListener(l *listener, recursive bool) {
	p.withdraw(l, recursive)
	if !recursive && !l.current().Options.RemoveOrphanSessions {
		return
	}
	l.cancel()
	for _, s := range p.sessions.List() {
		if s.Listener == l.current().Name {
			s.End()
		}
	}
}

// withdraw removes a listener. Its sessions go on. It requires the lock.
func (p *Proxy) withdraw(l *listener, recursive bool) {
	delete(p.listeners, l.current().Name)
	l.stop()
	p.store.ReleaseRules(l.rules.Load(), recursive)
}

// DeleteCluster removes a cluster and, if recursive, ends its sessions.
func (p *Proxy) DeleteCluster(name string, recursive bool) error {
	c, err := p.store.DeleteCluster(name)
	if err != nil || !recursive {
		return err
	}
	for _, s := range p.sessions.List() {
		if s.Uses(c.Name) {
			s.End()
		}
	}
	return nil
}

// DeleteEndpoint removes an endpoint and, if recursive, closes its connections. Sessions may get another one.
func (p *Proxy) DeleteEndpoint(name string, recursive bool) error {
	e, err := p.store.DeleteEndpoint(name)
	if err != nil || !recursive {
		return err
	}
	for _, s := range p.sessions.List() {
		s.Disconnect(e)
	}
	return nil
}
