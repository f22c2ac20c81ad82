package object

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// ReleaseRules ends the reference of a listener to its rule list. If recursive, it removes the rule list if its name is
// generated and it has no other reference.
func (s *Store) ReleaseRules(slot *Slot[RuleList], recursive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := slot.Get()
	s.ruleLists.release(slot)
	if recursive && l != nil && l.Auto && slot.uses == 0 {
		s.removeRuleList(l, true)
	}
}

// DeleteRuleList removes a rule list and, if recursive, those of its rules whose names are generated.
func (s *Store) DeleteRuleList(name string, recursive bool) error {
	return remove(s, s.ruleLists, "rulelist", "rulelist", name, func(l *RuleList) { s.removeRuleList(l, recursive) })
}

// DeleteRule removes a rule and, if recursive, its route if the name is generated.
func (s *Store) DeleteRule(name string, recursive bool) error {
	return remove(s, s.rules, "rule", "rule", name, func(r *Rule) { s.removeRule(r, recursive) })
}

// DeleteRoute removes a route and, if recursive, those of its clusters whose names are generated.
func (s *Store) DeleteRoute(name string, recursive bool) error {
	return remove(s, s.routes, "Route", "Route", name, func(r *Route) {
		if recursive {
			s.removeRoute(r)
			return
		}
		s.routes.unset(r.Name)
		for _, slot := range r.clusters() {
			s.clusters.release(slot)
		}
	})
}

// DeleteCluster removes a cluster with its endpoints, and returns it.
func (s *Store) DeleteCluster(name string) (removed *cluster.Cluster, err error) {
	err = remove(s, s.clusters, "cluster", "cluster", name, func(c *cluster.Cluster) {
		removed = c
		s.removeCluster(c)
	})
	return removed, err
}

func remove[T any](s *Store, t table[T], what, kind, name string, do func(*T)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := t.get(name)
	if one == nil {
		return fmt.Errorf("Cannot delete %s: Unknown %s %q", what, kind, name)
	}
	do(one)
	return nil
}

// ErrNotFound is the error of an endpoint that does not exist.
var ErrNotFound = errors.New("Not Found")

// DeleteEndpoint removes an endpoint from its cluster, and returns it.
func (s *Store) DeleteEndpoint(name string) (*cluster.Endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.endpoints[name]
	if c == nil {
		return nil, fmt.Errorf("%w: Unknown endpoint %q", ErrNotFound, name)
	}
	all := slices.Clone(c.Endpoints())
	i := slices.IndexFunc(all, func(e *cluster.Endpoint) bool { return e.Name == name })
	e := all[i]
	c.SetEndpoints(slices.Delete(all, i, i+1))
	delete(s.endpoints, name)
	e.Close()
	return e, nil
}

// InsertRule inserts a rule into a rule list at a position from 0 to its length.
func (s *Store) InsertRule(list, position string, r config.RuleRef) error {
	what := fmt.Sprintf("insert rule at position %s into rulelist", position)
	return s.change(what, nil, func(p *plan) error {
		l := s.ruleLists.get(list)
		if l == nil {
			return fmt.Errorf("Unknown rulelist %q", list)
		}
		at, err := strconv.Atoi(position)
		if err != nil || at < 0 || at > len(l.Rules) {
			return fmt.Errorf("the position must be from 0 to %d", len(l.Rules))
		}
		name, err := p.addRuleRef(list, r)
		if err != nil {
			return err
		}
		p.after = func() {
			changed := *l
			changed.Rules = slices.Insert(slices.Clone(l.Rules), at, s.rules.use(name))
			s.ruleLists.set(list, &changed)
		}
		return nil
	})
}

// RemoveRule removes the rule at a position, or with a name, from a rule list. If recursive, it removes the rule, too.
func (s *Store) RemoveRule(list, position string, recursive bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ruleLists.get(list)
	if l == nil {
		return fmt.Errorf("Cannot delete rule: Unknown rulelist %q", list)
	}
	at := l.position(position)
	if at < 0 {
		return fmt.Errorf("Cannot delete rule: Unknown rule %q in rulelist %q", position, list)
	}
	slot := l.Rules[at]
	changed := *l
	changed.Rules = slices.Delete(slices.Clone(l.Rules), at, at+1)
	s.ruleLists.set(list, &changed)
	r := slot.Get()
	s.rules.release(slot)
	if recursive && r != nil {
		s.removeRule(r, true)
	}
	return nil
}

// position returns the index of a rule by its index or, else, by its name; a negative number if there is none.
func (l *RuleList) position(text string) int {
	if at, err := strconv.Atoi(text); err == nil && at >= 0 && at < len(l.Rules) {
		return at
	}
	return slices.IndexFunc(l.Rules, func(s *Slot[Rule]) bool { return s.Name == text })
}

func (s *Store) removeRuleList(l *RuleList, recursive bool) {
	s.ruleLists.unset(l.Name)
	s.dropRuleList(l, recursive)
}

// dropRuleList ends the references of a rule list.
func (s *Store) dropRuleList(l *RuleList, recursive bool) {
	for _, h := range l.hosts {
		s.ruleLists.release(h.rules)
	}
	for _, slot := range l.Rules {
		r := slot.Get()
		s.rules.release(slot)
		if recursive && r != nil && r.Auto && slot.uses == 0 {
			s.removeRule(r, true)
		}
	}
}

func (s *Store) removeRule(r *Rule, recursive bool) {
	s.rules.unset(r.Name)
	s.dropRule(r, recursive)
}

func (s *Store) dropRule(r *Rule, recursive bool) {
	s.ruleLists.release(r.Apply)
	if r.Route == nil {
		return
	}
	route := r.Route.Get()
	s.routes.release(r.Route)
	if recursive && route != nil && route.Auto && r.Route.uses == 0 {
		s.removeRoute(route)
	}
}

func (s *Store) removeRoute(r *Route) {
	s.routes.unset(r.Name)
	s.dropRoute(r)
}

func (s *Store) dropRoute(r *Route) {
	for _, slot := range r.clusters() {
		c := slot.Get()
		s.clusters.release(slot)
		if c != nil && c.Auto && slot.uses == 0 {
			s.removeCluster(c)
		}
	}
}

// clusters returns the references of a route.
func (r *Route) clusters() []*Slot[cluster.Cluster] {
	all := slices.Concat(r.destinations(), r.Ingress, r.Egress)
	for _, m := range r.Mirrors {
		all = append(all, m.Destination)
	}
	return all
}

func (r *Route) destinations() (all []*Slot[cluster.Cluster]) {
	for _, d := range r.Destinations {
		all = append(all, d.Slot)
	}
	return all
}

// removeCluster removes a cluster with its endpoints.
func (s *Store) removeCluster(c *cluster.Cluster) {
	s.clusters.unset(c.Name)
	c.Stop()
	for _, e := range c.Endpoints() {
		delete(s.endpoints, e.Name)
		e.Close()
	}
}
