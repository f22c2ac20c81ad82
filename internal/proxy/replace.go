package proxy

import (
	"errors"
	"fmt"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Replace makes a configuration the only one. Listeners whose spec did not change keep their sockets, and sessions go
// on. If a new listener cannot listen, nothing is changed.
func (p *Proxy) Replace(c *config.Config) error {
	return p.apply(c, p.store.Replace, func(wanted map[string]bool) (gone []string) {
		for name := range p.listeners {
			if !wanted[name] {
				gone = append(gone, name)
			}
		}
		return gone
	})
}

// Removed are the names of objects that a change removes.
type Removed struct{ Listeners, Clusters, RuleLists []string }

// Patch adds or replaces the objects of a configuration, and removes others. The rest stays as it is. It is as careful
// as Replace.
func (p *Proxy) Patch(c *config.Config, r Removed) error {
	patch := func(c *config.Config) error { return p.store.Patch(c, r.Clusters, r.RuleLists) }
	return p.apply(c, patch, func(map[string]bool) []string { return r.Listeners })
}

// apply applies the objects of a configuration. gone returns the listeners that are removed then.
func (p *Proxy) apply(
	c *config.Config, store func(*config.Config) error, gone func(wanted map[string]bool) []string,
) error {
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
	for _, l := range c.Listeners {
		if wanted[l.Name] {
			return fmt.Errorf("Cannot add listener: Listener %q already defined", l.Name)
		}
		wanted[l.Name] = true
	}
	leaving := gone(wanted)
	sockets := p.handover(leaving)
	var added []*listener
	undo := func() {
		for _, l := range added {
			p.withdraw(l, true)
		}
		sockets.undo()
		for _, l := range added {
			l.cancel()
		}
	}
	for _, l := range c.Listeners {
		if p.listeners[l.Name] != nil {
			continue
		}
		sockets.free(l)
		// The rules come with the other objects.
		if err := p.addListener(l, config.RulesRef{Inline: []config.RuleRef{}}); err != nil {
			undo()
			return fmt.Errorf("Cannot add listener: %w", err)
		}
		added = append(added, p.listeners[l.Name])
	}
	if err := store(c); err != nil {
		undo()
		return err
	}
	p.leaveRemoved(c.Clusters)
	var failed error
	for _, l := range c.Listeners {
		failed = errors.Join(failed, p.updateListener(p.listeners[l.Name], l))
	}
	for _, l := range added {
		l.begin()
	}
	for _, name := range leaving {
		if l := p.listeners[name]; l != nil {
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

// leaveRemoved makes sessions over UDP leave the endpoints that clusters no longer have.
func (p *Proxy) leaveRemoved(changed []config.Cluster) {
	for i := range changed {
		if changed[i].Spec.Datagrams() {
			for _, s := range p.sessions.List() {
				s.LeaveRemoved()
			}
			return
		}
	}
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
