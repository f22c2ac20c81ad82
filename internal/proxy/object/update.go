package object

import (
	"fmt"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// exists checks that there is an object to update.
func exists[T any](s *Store, t table[T], what, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.get(name) == nil {
		return fmt.Errorf("Cannot update %s: Unknown %s %q", what, what, name)
	}
	return nil
}

// only allows the replacement of one object.
func only(class, name string) func(c, n string) bool {
	return func(c, n string) bool { return c == class && n == name }
}

// UpdateCluster replaces a cluster. Endpoints that stay keep their connections; sessions go on.
func (s *Store) UpdateCluster(c config.Cluster) error {
	if err := exists(s, s.clusters, "cluster", c.Name); err != nil {
		return err
	}
	return s.change("update cluster", only(classCluster, c.Name), func(p *plan) error { return p.addCluster(c.Name, false, c) })
}

// UpdateRuleList replaces a rule list.
func (s *Store) UpdateRuleList(l config.RuleList) error {
	if err := exists(s, s.ruleLists, "rulelist", l.Name); err != nil {
		return err
	}
	return s.change("update rulelist", only(classRuleList, l.Name), func(p *plan) error {
		return p.addRuleList(l.Name, false, l.Rules, l.Hosts...)
	})
}

// UpdateRule replaces a rule.
func (s *Store) UpdateRule(r config.Rule) error {
	if err := exists(s, s.rules, "rule", r.Name); err != nil {
		return err
	}
	return s.change("update rule", only(classRule, r.Name), func(p *plan) error { return p.addRule(r.Name, false, r) })
}

// UpdateRoute replaces a route. Sessions keep the one that they began with.
func (s *Store) UpdateRoute(r config.Route) error {
	if err := exists(s, s.routes, "route", r.Name); err != nil {
		return err
	}
	return s.change("update route", only(classRoute, r.Name), func(p *plan) error { return p.addRoute(r.Name, false, r) })
}

// Replace makes the objects of a configuration the only ones, except those with generated names that listeners use.
// Objects that both have are replaced. An error changes nothing.
func (s *Store) Replace(c *config.Config) error {
	if err := s.addAll(c); err != nil {
		return err
	}
	s.keep(c)
	return nil
}

// Patch adds the objects of a configuration, or replaces those of their names, and removes clusters and rule lists by
// name. An error changes nothing.
func (s *Store) Patch(c *config.Config, clusters, ruleLists []string) error {
	if err := s.addAll(c); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range ruleLists {
		if l := s.ruleLists.get(name); l != nil {
			s.removeRuleList(l, true)
		}
	}
	for _, name := range clusters {
		if one := s.clusters.get(name); one != nil {
			s.removeCluster(one)
		}
	}
	return nil
}

// addAll adds the objects of a configuration, or replaces those of their names.
func (s *Store) addAll(c *config.Config) error {
	all := func(string, string) bool { return true }
	return s.change("apply the configuration", all, func(p *plan) error {
		for i, one := range c.Clusters {
			if err := p.addCluster(one.Name, false, one); err != nil {
				return fmt.Errorf("clusters[%d]: %w", i, err)
			}
		}
		for i, one := range c.RuleLists {
			if err := p.addRuleList(one.Name, false, one.Rules, one.Hosts...); err != nil {
				return fmt.Errorf("rulelists[%d]: %w", i, err)
			}
		}
		for i, one := range c.Rules {
			if err := p.addRule(one.Name, false, one); err != nil {
				return fmt.Errorf("rules[%d]: %w", i, err)
			}
		}
		for i, one := range c.Routes {
			if err := p.addRoute(one.Name, false, one); err != nil {
				return fmt.Errorf("routes[%d]: %w", i, err)
			}
		}
		return nil
	})
}

// keep removes the named objects that a configuration has not.
func (s *Store) keep(c *config.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]bool{}
	addRules(names, c)
	for _, one := range c.Clusters {
		names[classCluster+one.Name] = true
	}
	for name, slot := range s.ruleLists {
		if l := slot.Get(); l != nil && !l.Auto && !names[classRuleList+name] {
			s.removeRuleList(l, true)
		}
	}
	for name, slot := range s.rules {
		if r := slot.Get(); r != nil && !r.Auto && !names[classRule+name] {
			s.removeRule(r, true)
		}
	}
	for name, slot := range s.routes {
		if r := slot.Get(); r != nil && !r.Auto && !names[classRoute+name] {
			s.removeRoute(r)
		}
	}
	for name, slot := range s.clusters {
		if one := slot.Get(); one != nil && !one.Auto && !names[classCluster+name] {
			s.removeCluster(one)
		}
	}
}

// addRules collects the names of rule lists, rules, routes and clusters, also of inline ones.
func addRules(names map[string]bool, c *config.Config) {
	var route func(config.Route)
	var rule func(config.Rule)
	add := func(class, name string) {
		if name != "" {
			names[class+name] = true
		}
	}
	route = func(r config.Route) {
		add(classRoute, r.Name)
		refs := append(append([]config.ClusterRef{r.Destination}, r.Ingress...), r.Egress...)
		for _, d := range r.Destinations {
			refs = append(refs, d.Destination)
		}
		for _, m := range r.Mirrors {
			refs = append(refs, m.Destination)
		}
		for _, ref := range refs {
			if ref.Inline != nil {
				add(classCluster, ref.Inline.Name)
			}
		}
	}
	rule = func(r config.Rule) {
		add(classRule, r.Name)
		if r.Action.Route != nil && r.Action.Route.Inline != nil {
			route(*r.Action.Route.Inline)
		}
	}
	rules := func(all []config.RuleRef) {
		for _, ref := range all {
			if ref.Inline != nil {
				rule(*ref.Inline)
			}
		}
	}
	for _, l := range c.Listeners {
		rules(l.Rules.Inline)
	}
	for _, l := range c.RuleLists {
		add(classRuleList, l.Name)
		rules(l.Rules)
	}
	for _, r := range c.Rules {
		rule(r)
	}
	for _, r := range c.Routes {
		route(r)
	}
}
