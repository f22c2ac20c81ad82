package proxy

import (
	"errors"
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/object"
)

// backend implements api.Proxy.
type backend struct{ *Proxy }

// List implements api.Proxy.
func (b backend) List(class string, recursive bool) []any {
	s := b.store
	switch class {
	case "clusters":
		return s.Clusters(recursive)
	case "rulelists":
		return s.RuleLists(recursive)
	case "rules":
		return s.Rules(recursive)
	case "routes":
		return s.Routes(recursive)
	case "listeners":
		return b.dumpListeners(recursive)
	}
	all := []any{}
	for _, one := range b.sessions.List() {
		all = append(all, one.Dump())
	}
	for _, one := range b.requests() {
		all = append(all, one)
	}
	return all
}

func (b backend) dumpListeners(recursive bool) []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := make([]string, 0, len(b.listeners))
	for name := range b.listeners {
		names = append(names, name)
	}
	slices.Sort(names)
	all := []any{}
	for _, name := range names {
		all = append(all, b.listeners[name].dump(recursive))
	}
	return all
}

func (l *listener) dump(recursive bool) object.Object {
	c := l.current()
	return object.Object{"name": c.Name, "spec": c.Spec, "rules": object.RulesOf(l.rules.Load(), recursive), "options": c.Options}
}

// Get implements api.Proxy.
func (b backend) Get(class, name string, recursive bool) any {
	var one object.Object
	switch class {
	case "listeners":
		b.mu.Lock()
		defer b.mu.Unlock()
		if l := b.listeners[name]; l != nil {
			return l.dump(recursive)
		}
	case "clusters":
		one = b.store.GetCluster(name, recursive)
	case "rulelists":
		one = b.store.GetRuleList(name, recursive)
	case "rules":
		one = b.store.GetRule(name, recursive)
	case "routes":
		one = b.store.GetRoute(name, recursive)
	case "endpoints":
		one = b.store.GetEndpoint(name)
	case "sessions":
		if s := b.sessions.Get(name); s != nil {
			return s.Dump()
		}
		if r, l := b.request(name); r != nil {
			return l.requestDump(r, "CONNECTED")
		}
	}
	if one == nil {
		return nil
	}
	return one
}

// Endpoints implements api.Proxy.
func (b backend) Endpoints(name string) ([]any, bool) { return b.store.Endpoints(name) }

// RuleAt implements api.Proxy.
func (b backend) RuleAt(list, position string, recursive bool) any {
	return b.store.RuleAt(list, position, recursive)
}

// Config implements api.Proxy.
func (b backend) Config() any {
	out := object.Object{"admin": b.Admin()}
	for _, class := range []string{"listeners", "clusters", "rulelists", "rules", "routes", "sessions"} {
		out[class] = b.List(class, false)
	}
	endpoints := []any{}
	for _, c := range b.store.AllClusters() {
		if all, _ := b.store.Endpoints(c.Name); !c.Spec.Protocol.Pseudo() {
			endpoints = append(endpoints, all...)
		}
	}
	out["endpoints"] = endpoints
	return out
}

// Admin implements api.Proxy.
func (b backend) Admin() any {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.admin
	if a.LogLevel == "" {
		a.LogLevel = "info"
	}
	if a.LogFile == "" {
		a.LogFile = "stderr"
	}
	out := object.Object{
		"log_level": a.LogLevel, "log_file": a.LogFile, "strict": a.Strict, "offload": false, "version": b.Version,
		"access_log_path": a.AccessLogPath,
	}
	if a.AccessLogText != "" {
		out["access_log_text"] = a.AccessLogText
	}
	if len(a.AccessLogFields) > 0 {
		out["access_log_fields"] = a.AccessLogFields
	}
	if a.Tracing != nil {
		out["tracing"] = a.Tracing
	}
	return out
}

// Strict implements api.Proxy.
func (b backend) Strict() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.admin.Strict
}

// SetAdmin implements api.Proxy. The log stays where it is.
func (b backend) SetAdmin(a config.Admin) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.LogFile != "" && a.LogFile != b.admin.LogFile {
		return errors.New("Cannot set admin: log_file can be set only at the start")
	}
	if err := b.openAccessLog(b.admin, a); err != nil {
		return fmt.Errorf("Cannot set admin: %w", err)
	}
	b.openTracing(b.admin, a)
	a.LogFile = b.admin.LogFile
	b.admin = a
	b.applyLevel()
	return nil
}

// Delete implements api.Proxy.
func (b backend) Delete(class, name string, recursive bool) error {
	switch class {
	case "listeners":
		return b.DeleteListener(name, recursive)
	case "clusters":
		return b.DeleteCluster(name, recursive)
	case "rulelists":
		return b.store.DeleteRuleList(name, recursive)
	case "rules":
		return b.store.DeleteRule(name, recursive)
	case "routes":
		return b.store.DeleteRoute(name, recursive)
	case "endpoints":
		return b.DeleteEndpoint(name, recursive)
	}
	s := b.sessions.Get(name)
	if s == nil {
		r, _ := b.request(name)
		if r == nil {
			return errors.New("No such session")
		}
		r.Interrupt()
		return nil
	}
	s.End()
	return nil
}

// AddCluster implements api.Proxy.
func (b backend) AddCluster(c config.Cluster) error { return b.store.AddCluster(c) }

// UpdateCluster implements api.Proxy.
func (b backend) UpdateCluster(c config.Cluster) error { return b.store.UpdateCluster(c) }

// AddEndpoint implements api.Proxy.
func (b backend) AddEndpoint(name string, e config.Endpoint) error {
	return b.store.AddEndpoint(name, e)
}

// AddRuleList implements api.Proxy.
func (b backend) AddRuleList(l config.RuleList) error { return b.store.AddRuleList(l) }

// UpdateRuleList implements api.Proxy.
func (b backend) UpdateRuleList(l config.RuleList) error { return b.store.UpdateRuleList(l) }

// AddRule implements api.Proxy.
func (b backend) AddRule(r config.Rule) error { return b.store.AddRule(r) }

// UpdateRule implements api.Proxy.
func (b backend) UpdateRule(r config.Rule) error { return b.store.UpdateRule(r) }

// InsertRule implements api.Proxy.
func (b backend) InsertRule(list, position string, r config.RuleRef) error {
	return b.store.InsertRule(list, position, r)
}

// RemoveRule implements api.Proxy.
func (b backend) RemoveRule(list, position string, recursive bool) error {
	return b.store.RemoveRule(list, position, recursive)
}

// AddRoute implements api.Proxy.
func (b backend) AddRoute(r config.Route) error { return b.store.AddRoute(r) }

// UpdateRoute implements api.Proxy.
func (b backend) UpdateRoute(r config.Route) error { return b.store.UpdateRoute(r) }

// applyLevel sets the level of the log. It requires the lock.
func (p *Proxy) applyLevel() {
	if p.Level != nil {
		p.Level.Set(config.Levels[p.admin.LogLevel])
	}
}
