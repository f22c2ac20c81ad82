package object

import (
	"fmt"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/predicate"
)

// plan collects the objects of one change. It checks everything before the first object is stored.
type plan struct {
	*Store
	ruleLists []newObject[ruleListSpec]
	rules     []newObject[config.Rule]
	routes    []newObject[routeSpec]
	clusters  []newObject[config.Cluster]
	endpoints map[string]bool
	matches   map[string]predicate.Predicate // of rules
	// replaces reports whether the plan may replace an object; nil if it may not replace any.
	replaces func(class, name string) bool
	after    func() // runs after the objects are stored
}

// Classes of objects, as the API and errors name them.
const (
	classRuleList = "RuleList"
	classRule     = "Rule"
	classRoute    = "Route"
	classCluster  = "Cluster"
)

// stored reports whether the store has an object that the plan does not replace.
func stored[T any](p *plan, t table[T], class, name string) bool {
	return t.get(name) != nil && (p.replaces == nil || !p.replaces(class, name))
}

type newObject[T any] struct {
	name string
	auto bool
	spec T
}

type ruleListSpec struct {
	rules []string
	hosts []config.HostRules
}

// routeSpec has the names of the clusters.
type routeSpec struct {
	destinations    []destinationSpec
	ingress, egress []string
	retry           config.Retry
	timeouts        config.Timeouts
	mirrors         []mirrorSpec
	metrics         *config.RouteMetrics
	rate            *config.RequestRate
}

type destinationSpec struct {
	name   string
	weight int
}

type mirrorSpec struct {
	destination string
	percent     int
}

func (s *Store) plan() *plan {
	return &plan{Store: s, endpoints: map[string]bool{}, matches: map[string]predicate.Predicate{}}
}

// planned reports whether the plan has an object of a name.
func planned[T any](all []newObject[T], name string) bool {
	for _, one := range all {
		if one.name == name {
			return true
		}
	}
	return false
}

// name returns a generated name, such as PARENT-Route-1, that is not in use.
func (p *plan) name(parent, class string, used func(string) bool) string {
	p.counters[class]++
	name := fmt.Sprintf("%s-%s-%d", parent, class, p.counters[class])
	for unique, i := name, 1; ; i++ {
		if !used(unique) {
			return unique
		}
		unique = fmt.Sprintf("%s_%d", name, i)
	}
}

func duplicate(class, name string) error { return fmt.Errorf("%s %q already defined", class, name) }

func (p *plan) hasRuleList(name string) bool {
	return stored(p, p.Store.ruleLists, classRuleList, name) || planned(p.ruleLists, name)
}

func (p *plan) hasRule(name string) bool {
	return stored(p, p.Store.rules, classRule, name) || planned(p.rules, name)
}

func (p *plan) hasRoute(name string) bool {
	return stored(p, p.Store.routes, classRoute, name) || planned(p.routes, name)
}

func (p *plan) hasCluster(name string) bool {
	return stored(p, p.Store.clusters, classCluster, name) || planned(p.clusters, name)
}

func (p *plan) hasEndpoint(name string) bool {
	owner := p.Store.endpoints[name]
	return owner != nil && stored(p, p.Store.clusters, classCluster, owner.Name) || p.endpoints[name]
}

func (p *plan) addRuleList(name string, auto bool, rules []config.RuleRef, hosts ...config.HostRules) error {
	if p.hasRuleList(name) {
		return duplicate(classRuleList, name)
	}
	names := make([]string, len(rules))
	for i, r := range rules {
		var err error
		if names[i], err = p.addRuleRef(name, r); err != nil {
			return fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	p.ruleLists = append(p.ruleLists, newObject[ruleListSpec]{name, auto, ruleListSpec{names, hosts}})
	return nil
}

// addRuleRef returns the name of a rule, which it adds if it is inline.
func (p *plan) addRuleRef(parent string, r config.RuleRef) (string, error) {
	if r.Inline == nil {
		return r.Name, nil
	}
	name, auto := r.Inline.Name, r.Inline.Name == ""
	if auto {
		name = p.name(parent, "Rule", p.hasRule)
	}
	return name, p.addRule(name, auto, *r.Inline)
}

func (p *plan) addRule(name string, auto bool, r config.Rule) error {
	if p.hasRule(name) {
		return duplicate(classRule, name)
	}
	match, err := predicate.Compile(r.Match)
	if err != nil {
		return fmt.Errorf("match: %w", err)
	}
	p.matches[name] = match
	if r.Action.Route != nil {
		route := r.Action.Route.Name
		if inline := r.Action.Route.Inline; inline != nil {
			route = inline.Name
			if route == "" {
				route = p.name(name, "Route", p.hasRoute)
			}
			if err := p.addRoute(route, inline.Name == "", *inline); err != nil {
				return fmt.Errorf("action.route: %w", err)
			}
		}
		r.Action.Route = &config.RouteRef{Name: route}
	}
	p.rules = append(p.rules, newObject[config.Rule]{name, auto, r})
	return nil
}

func (p *plan) addRoute(name string, auto bool, r config.Route) (err error) {
	if p.hasRoute(name) {
		return duplicate(classRoute, name)
	}
	spec := routeSpec{retry: r.Retry, timeouts: r.Timeouts, metrics: r.Metrics, rate: r.Rate}
	if spec.destinations, err = p.addDestinations(name, r); err != nil {
		return err
	}
	for i, c := range r.Ingress {
		one, err := p.addClusterRef(name, "ingress-Cluster", c)
		if err != nil {
			return fmt.Errorf("ingress[%d]: %w", i, err)
		}
		spec.ingress = append(spec.ingress, one)
	}
	for i, c := range r.Egress {
		one, err := p.addClusterRef(name, "egress-Cluster", c)
		if err != nil {
			return fmt.Errorf("egress[%d]: %w", i, err)
		}
		spec.egress = append(spec.egress, one)
	}
	for i, m := range r.Mirrors {
		one := mirrorSpec{percent: 100}
		if m.Percent != nil {
			one.percent = *m.Percent
		}
		if one.destination, err = p.addClusterRef(name, "mirror-Cluster", m.Destination); err != nil {
			return fmt.Errorf("mirrors[%d].destination: %w", i, err)
		}
		spec.mirrors = append(spec.mirrors, one)
	}
	p.routes = append(p.routes, newObject[routeSpec]{name, auto, spec})
	return nil
}

// addDestinations returns the clusters that a route leads to.
func (p *plan) addDestinations(name string, r config.Route) ([]destinationSpec, error) {
	if len(r.Destinations) == 0 {
		one, err := p.addClusterRef(name, "Cluster", r.Destination)
		if err != nil {
			return nil, fmt.Errorf("destination: %w", err)
		}
		return []destinationSpec{{one, 1}}, nil
	}
	var all []destinationSpec
	for i, d := range r.Destinations {
		one, err := p.addClusterRef(name, "Cluster", d.Destination)
		if err != nil {
			return nil, fmt.Errorf("destinations[%d].destination: %w", i, err)
		}
		all = append(all, destinationSpec{one, d.EffectiveWeight()})
	}
	return all, nil
}

func (p *plan) addClusterRef(parent, class string, c config.ClusterRef) (string, error) {
	if c.Inline == nil {
		return c.Name, nil
	}
	name, auto := c.Inline.Name, c.Inline.Name == ""
	if auto {
		name = p.name(parent, class, p.hasCluster)
	}
	return name, p.addCluster(name, auto, *c.Inline)
}

func (p *plan) addCluster(name string, auto bool, c config.Cluster) error {
	if p.hasCluster(name) {
		return duplicate(classCluster, name)
	}
	for i, e := range c.Endpoints {
		if e.Name != "" {
			if p.hasEndpoint(e.Name) {
				return fmt.Errorf("endpoints[%d]: %w", i, duplicate("EndPoint", e.Name))
			}
			p.endpoints[e.Name] = true
		}
	}
	p.clusters = append(p.clusters, newObject[config.Cluster]{name, auto, c})
	return nil
}
