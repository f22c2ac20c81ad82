package proxy

import (
	"context"
	"errors"
	"fmt"
	"reflect"

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
	if err := one.listen(); err != nil {
		cancel()
		return nil, fmt.Errorf("listener %q: %w", l.Name, err)
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
	if reflect.DeepEqual(old.current().Spec, l.Spec) {
		old.mu.Lock()
		old.spec.Rules, old.spec.Options = l.Rules, l.Options // the spec is in use
		old.mu.Unlock()
		old.track.Store(int64(l.Options.Track))
		p.store.ReleaseRules(old.rules.Swap(rules), true)
		return nil
	}
	old.closeSocket() // the new one may have the same port
	one, err := p.listen(l, rules)
	if err != nil {
		p.store.ReleaseRules(rules, true)
		again, failed := p.listen(old.current(), old.rules.Load())
		if failed != nil {
			delete(p.listeners, l.Name)
			return errors.Join(err, failed)
		}
		p.listeners[l.Name] = again
		again.begin()
		return err
	}
	p.store.ReleaseRules(old.rules.Load(), true)
	p.listeners[l.Name] = one
	one.begin()
	return nil
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
	name := l.current().Name
	delete(p.listeners, name)
	l.stop()
	p.store.ReleaseRules(l.rules.Load(), recursive)
	if !recursive && !l.current().Options.RemoveOrphanSessions {
		return
	}
	l.cancel()
	for _, s := range p.sessions.List() {
		if s.Listener == name {
			s.End()
		}
	}
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

// Replace makes a configuration the only one. Listeners whose spec did not change keep their sockets, and sessions go
// on. If a new listener cannot listen, nothing is changed.
func (p *Proxy) Replace(c *config.Config) error {
	if err := checkNames(c); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Admin != nil {
		if err := p.openAccessLog(p.admin, *c.Admin); err != nil {
			return fmt.Errorf("Cannot set admin: %w", err)
		}
	}
	wanted := map[string]bool{}
	var added []*listener
	undo := func() {
		for _, l := range added {
			p.removeListener(l, true)
		}
	}
	for _, l := range c.Listeners {
		if wanted[l.Name] {
			undo()
			return fmt.Errorf("Cannot add listener: Listener %q already defined", l.Name)
		}
		wanted[l.Name] = true
		if p.listeners[l.Name] != nil {
			continue
		}
		// The rules come with the other objects.
		if err := p.addListener(l, config.RulesRef{Inline: []config.RuleRef{}}); err != nil {
			undo()
			return fmt.Errorf("Cannot add listener: %w", err)
		}
		added = append(added, p.listeners[l.Name])
	}
	if err := p.store.Replace(c); err != nil {
		undo()
		return err
	}
	var failed error
	for _, l := range c.Listeners {
		failed = errors.Join(failed, p.updateListener(p.listeners[l.Name], l))
	}
	for _, l := range added {
		l.begin()
	}
	for name, l := range p.listeners {
		if !wanted[name] {
			p.removeListener(l, false)
		}
	}
	if c.Admin != nil {
		p.openTracing(p.admin, *c.Admin)
		p.admin = *c.Admin
		p.applyLevel()
	}
	return failed
}

// checkNames checks that the objects of a configuration have names.
func checkNames(c *config.Config) error {
	unnamed := map[string]bool{}
	for _, one := range c.Clusters {
		unnamed["cluster"] = unnamed["cluster"] || one.Name == ""
	}
	for _, one := range c.Rules {
		unnamed["rule"] = unnamed["rule"] || one.Name == ""
	}
	for _, one := range c.Routes {
		unnamed["route"] = unnamed["route"] || one.Name == ""
	}
	for _, class := range []string{"cluster", "rule", "route"} {
		if unnamed[class] {
			return fmt.Errorf("Cannot add %s: Property name is required", class)
		}
	}
	return nil
}
