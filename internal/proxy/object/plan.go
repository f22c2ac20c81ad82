package object

import (
	"fmt"
	"net"
	"strconv"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
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
}

type newObject[T any] struct {
	name string
	auto bool
	spec T
}

type ruleListSpec []string

// routeSpec has the names of the clusters.
type routeSpec struct {
	destination     string
	ingress, egress []string
	retry           config.Retry
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
	return p.Store.ruleLists.get(name) != nil || planned(p.ruleLists, name)
}

func (p *plan) hasRule(name string) bool {
	return p.Store.rules.get(name) != nil || planned(p.rules, name)
}

func (p *plan) hasRoute(name string) bool {
	return p.Store.routes.get(name) != nil || planned(p.routes, name)
}

func (p *plan) hasCluster(name string) bool {
	return p.Store.clusters.get(name) != nil || planned(p.clusters, name)
}

func (p *plan) hasEndpoint(name string) bool {
	return p.Store.endpoints[name] != nil || p.endpoints[name]
}

func (p *plan) addRuleList(name string, auto bool, rules []config.RuleRef) error {
	if p.hasRuleList(name) {
		return duplicate("RuleList", name)
	}
	names := make(ruleListSpec, len(rules))
	for i, r := range rules {
		var err error
		if names[i], err = p.addRuleRef(name, r); err != nil {
			return fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	p.ruleLists = append(p.ruleLists, newObject[ruleListSpec]{name, auto, names})
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
		return duplicate("Rule", name)
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
		return duplicate("Route", name)
	}
	spec := routeSpec{retry: r.Retry}
	if spec.destination, err = p.addClusterRef(name, "Cluster", r.Destination); err != nil {
		return fmt.Errorf("destination: %w", err)
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
	p.routes = append(p.routes, newObject[routeSpec]{name, auto, spec})
	return nil
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
		return duplicate("Cluster", name)
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

// commit stores the objects of the plan.
func (p *plan) commit() {
	s := p.Store
	for _, c := range p.clusters {
		built := cluster.New(c.name, c.auto, &c.spec)
		var all []*cluster.Endpoint
		for _, e := range c.spec.Endpoints {
			all = append(all, p.endpoint(built, e))
		}
		built.SetEndpoints(all)
		s.clusters.set(c.name, built)
	}
	for _, r := range p.routes {
		built := &Route{Name: r.name, Auto: r.auto, Retry: r.spec.retry, Destination: s.clusters.use(r.spec.destination)}
		for _, name := range r.spec.ingress {
			built.Ingress = append(built.Ingress, s.clusters.use(name))
		}
		for _, name := range r.spec.egress {
			built.Egress = append(built.Egress, s.clusters.use(name))
		}
		s.routes.set(r.name, built)
	}
	for _, r := range p.rules {
		built := &Rule{
			Name: r.name, Auto: r.auto, Match: r.spec.Match, matches: p.matches[r.name], Rewrite: r.spec.Action.Rewrite,
		}
		for _, w := range built.Rewrite {
			built.paths = append(built.paths, metadata.ParsePath(w.Path))
		}
		if r.spec.Action.Route != nil {
			built.Route = s.routes.use(r.spec.Action.Route.Name)
		}
		if r.spec.Action.Apply != "" {
			built.Apply = s.ruleLists.use(r.spec.Action.Apply)
		}
		s.rules.set(r.name, built)
	}
	for _, l := range p.ruleLists {
		built := &RuleList{Name: l.name, Auto: l.auto}
		for _, name := range l.spec {
			built.Rules = append(built.Rules, s.rules.use(name))
		}
		s.ruleLists.set(l.name, built)
	}
}

// endpoint returns a new endpoint of a cluster.
func (p *plan) endpoint(c *cluster.Cluster, e config.Endpoint) *cluster.Endpoint {
	name, auto := e.Name, e.Name == ""
	if auto {
		name = p.name(c.Name, "EndPoint", func(n string) bool { return p.hasEndpoint(n) })
	}
	transport := &c.Spec
	for transport.Transport != nil {
		transport = transport.Transport
	}
	address := e.Spec.Address
	if transport.Protocol != config.UnixDomainSocket {
		port := e.Spec.Port
		if port == 0 {
			port = transport.Port
		}
		address = net.JoinHostPort(address, strconv.Itoa(port))
	}
	p.Store.endpoints[name] = c
	return &cluster.Endpoint{Name: name, Auto: auto, Spec: e.Spec, Weight: e.EffectiveWeight(), Address: address}
}
