package object

import (
	"fmt"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// change makes a plan and applies it if it has no error.
func (s *Store) change(what string, replaces func(class, name string) bool, add func(p *plan) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plan()
	p.replaces = replaces
	if err := add(p); err != nil {
		return fmt.Errorf("Cannot %s: %w", what, err)
	}
	p.commit()
	return nil
}

// AddCluster adds a cluster with its endpoints.
func (s *Store) AddCluster(c config.Cluster) error {
	return s.change("add cluster", nil, func(p *plan) error { return p.addCluster(c.Name, false, c) })
}

// AddRuleList adds a rule list with its inline rules.
func (s *Store) AddRuleList(l config.RuleList) error {
	return s.change("add rulelist", nil, func(p *plan) error { return p.addRuleList(l.Name, false, l.Rules, l.Hosts...) })
}

// AddRule adds a rule with its inline route.
func (s *Store) AddRule(r config.Rule) error {
	return s.change("add rule", nil, func(p *plan) error { return p.addRule(r.Name, false, r) })
}

// AddRoute adds a route with its inline clusters.
func (s *Store) AddRoute(r config.Route) error {
	return s.change("add route", nil, func(p *plan) error { return p.addRoute(r.Name, false, r) })
}

// AddRules returns the rule list of a listener: it adds inline rules as a rule list with a generated name.
func (s *Store) AddRules(listener string, r config.RulesRef) (*Slot[RuleList], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Name != "" {
		return s.ruleLists.use(r.Name), nil
	}
	p := s.plan()
	name := p.name(listener, "RuleList", p.hasRuleList)
	if err := p.addRuleList(name, true, r.Inline); err != nil {
		return nil, err
	}
	p.commit()
	return s.ruleLists.use(name), nil
}

// AddEndpoint adds an endpoint to a cluster.
func (s *Store) AddEndpoint(name string, e config.Endpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters.get(name)
	if c == nil {
		return fmt.Errorf("Cannot add endpoint: Unknown cluster %q", name)
	}
	if s.endpoints[e.Name] != nil {
		return fmt.Errorf("Cannot add endpoint: %w", duplicate("EndPoint", e.Name))
	}
	if c.Spec.Protocol.Pseudo() {
		return fmt.Errorf("Cannot add endpoint: clusters of protocol %s have no endpoints", c.Spec.Protocol)
	}
	if err := (&config.Cluster{Spec: c.Spec}).CheckEndpoint(&e); err != nil {
		return fmt.Errorf("Cannot add endpoint: %w", err)
	}
	c.SetEndpoints(append(slices.Clone(c.Endpoints()), s.plan().endpoint(c, e)))
	return nil
}

// AllClusters returns the clusters by name.
func (s *Store) AllClusters() []*cluster.Cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*cluster.Cluster
	for _, name := range s.clusters.names() {
		all = append(all, s.clusters.get(name))
	}
	return all
}
