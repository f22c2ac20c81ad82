package object

import (
	"slices"
	"strconv"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// Object is an object as the API shows it.
type Object = map[string]any

// stale marks references to objects that do not exist.
const stale = ":<STALE>"

// names returns the sorted names of all objects.
func (t table[T]) names() []string {
	var all []string
	for name, slot := range t {
		if slot.Get() != nil {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// list returns all objects.
func list[T any](s *Store, t table[T], dump func(*T) Object) []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []any{}
	for _, name := range t.names() {
		all = append(all, dump(t.get(name)))
	}
	return all
}

// one returns the object of a name; nil if there is none.
func one[T any](s *Store, t table[T], name string, dump func(*T) Object) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := t.get(name); v != nil {
		return dump(v)
	}
	return nil
}

// reference returns the name of an object or, if recursive, the object.
func reference[T any](s *Slot[T], recursive bool, dump func(*T) Object) any {
	if !recursive {
		return s.Name
	}
	if v := s.Get(); v != nil {
		return dump(v)
	}
	return s.Name + stale
}

func references[T any](all []*Slot[T], recursive bool, dump func(*T) Object) []any {
	out := make([]any, len(all))
	for i, s := range all {
		out[i] = reference(s, recursive, dump)
	}
	return out
}

// Clusters returns all clusters.
func (s *Store) Clusters(recursive bool) []any { return list(s, s.clusters, clusterDump(recursive)) }

// RuleLists returns all rule lists.
func (s *Store) RuleLists(recursive bool) []any { return list(s, s.ruleLists, ruleListDump(recursive)) }

// Rules returns all rules.
func (s *Store) Rules(recursive bool) []any { return list(s, s.rules, ruleDump(recursive)) }

// Routes returns all routes.
func (s *Store) Routes(recursive bool) []any { return list(s, s.routes, routeDump(recursive)) }

// GetCluster returns a cluster; nil if there is none.
func (s *Store) GetCluster(name string, recursive bool) Object {
	return one(s, s.clusters, name, clusterDump(recursive))
}

// GetRuleList returns a rule list; nil if there is none.
func (s *Store) GetRuleList(name string, recursive bool) Object {
	return one(s, s.ruleLists, name, ruleListDump(recursive))
}

// GetRule returns a rule; nil if there is none.
func (s *Store) GetRule(name string, recursive bool) Object {
	return one(s, s.rules, name, ruleDump(recursive))
}

// GetRoute returns a route; nil if there is none.
func (s *Store) GetRoute(name string, recursive bool) Object {
	return one(s, s.routes, name, routeDump(recursive))
}

// RuleAt returns the rule at a position of a rule list; nil if there is none.
func (s *Store) RuleAt(list, position string, recursive bool) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ruleLists.get(list)
	if l == nil {
		return nil
	}
	at, err := strconv.Atoi(position)
	if err != nil || at < 0 || at >= len(l.Rules) {
		return nil
	}
	return reference(l.Rules[at], true, ruleDump(recursive))
}

// RulesOf returns the name of a rule list or, if recursive, its rules.
func RulesOf(slot *Slot[RuleList], recursive bool) any {
	if !recursive {
		return slot.Name
	}
	if l := slot.Get(); l != nil {
		return references(l.Rules, true, ruleDump(true))
	}
	return slot.Name + stale
}

// Endpoints returns the endpoints of a cluster; false if there is no such cluster.
func (s *Store) Endpoints(name string) ([]any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters.get(name)
	if c == nil {
		return nil, false
	}
	return endpointsDump(c), true
}

// GetEndpoint returns an endpoint; nil if there is none.
func (s *Store) GetEndpoint(name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.endpoints[name]
	if c == nil {
		return nil
	}
	for _, e := range c.Endpoints() {
		if e.Name == name {
			return endpointDump(e)
		}
	}
	return nil
}

func ruleListDump(recursive bool) func(*RuleList) Object {
	return func(l *RuleList) Object {
		out := Object{"name": l.Name, "rules": references(l.Rules, recursive, ruleDump(recursive))}
		if len(l.hosts) > 0 {
			out["hosts"] = l.hostsDump()
		}
		return out
	}
}

func ruleDump(recursive bool) func(*Rule) Object {
	return func(r *Rule) Object {
		action := Object{}
		if len(r.Rewrite) > 0 {
			action["rewrite"] = r.Rewrite
		}
		if r.Route != nil {
			action["route"] = reference(r.Route, recursive, routeDump(recursive))
		}
		if r.Apply != nil {
			action["apply"] = r.Apply.Name
		}
		switch {
		case r.Deny:
			action["deny"] = true
		case r.Redirect != nil:
			action["redirect"] = r.Redirect
		}
		match := r.Match
		if _, object := match.(map[string]any); !object {
			match = Object{"match": "*"}
		}
		return Object{"name": r.Name, "match": match, "action": action}
	}
}

func clusterDump(recursive bool) func(*cluster.Cluster) Object {
	return func(c *cluster.Cluster) Object {
		policy := c.LoadBalancer
		if policy.Policy == config.ConsistentHash {
			policy.Policy = config.HashRing
		}
		if policy.Policy == "" {
			policy.Policy = config.Trivial
			if len(c.Endpoints()) > 1 {
				policy.Policy = config.RoundRobin
			}
		}
		if (policy.Policy == config.HashRing || policy.Policy == config.Maglev) && policy.Key == "" {
			policy.Key = "<RANDOM>"
		}
		out := Object{"name": c.Name, "spec": c.Spec, "loadbalancer": policy, "endpoints": len(c.Endpoints())}
		if c.HealthCheck != nil {
			out["health_check"] = c.HealthCheck
		}
		if c.Outlier != nil {
			out["outlier"] = c.Outlier
		}
		if c.Limits != (config.Limits{}) {
			out["limits"] = c.Limits
		}
		if recursive {
			out["endpoints"] = endpointsDump(c)
		}
		return out
	}
}

func endpointsDump(c *cluster.Cluster) []any {
	if c.Spec.Protocol.Pseudo() && c.Spec.Protocol != config.Prometheus {
		return []any{Object{"name": c.Name, "spec": Object{"address": "<VIRTUAL>"}}}
	}
	all := []any{}
	for _, e := range c.Endpoints() {
		all = append(all, endpointDump(e))
	}
	return all
}

func endpointDump(e *cluster.Endpoint) Object {
	out := Object{"name": e.Name, "spec": e.Spec, "weight": e.Weight}
	if e.Watched() {
		out["state"] = e.State()
	}
	return out
}
