package object

import (
	"net"
	"slices"
	"strconv"
	"time"

	"anymesh.dev/anymesh/internal/proxy/bucket"
	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// commit stores the objects of the plan. Those that it replaces keep their slots, so that references see the new ones.
func (p *plan) commit() {
	s := p.Store
	for _, c := range p.clusters {
		p.commitCluster(c)
	}
	for _, r := range p.routes {
		built := &Route{
			Name: r.name, Auto: r.auto, Retry: r.spec.retry, Timeouts: r.spec.timeouts, Metrics: r.spec.metrics,
			Rate: r.spec.rate,
		}
		if r.spec.rate != nil {
			built.tokens = bucket.New(&r.spec.rate.Limit, time.Now())
		}
		var destinations []Destination
		for _, d := range r.spec.destinations {
			destinations = append(destinations, Destination{Slot: s.clusters.use(d.name), Weight: d.weight})
		}
		built.SetDestinations(destinations...)
		for _, name := range r.spec.ingress {
			built.Ingress = append(built.Ingress, s.clusters.use(name))
		}
		for _, name := range r.spec.egress {
			built.Egress = append(built.Egress, s.clusters.use(name))
		}
		for _, m := range r.spec.mirrors {
			built.Mirrors = append(built.Mirrors, Mirror{s.clusters.use(m.destination), m.percent})
		}
		if old := s.routes.set(r.name, built); old != nil {
			s.dropRoute(old)
		}
	}
	for _, r := range p.rules {
		built := &Rule{
			Name: r.name, Auto: r.auto, Match: r.spec.Match, matches: p.matches[r.name],
			Deny: r.spec.Action.Deny, Redirect: r.spec.Action.Redirect,
		}
		built.setRewrites(r.spec.Action.Rewrite)
		if r.spec.Action.Route != nil {
			built.Route = s.routes.use(r.spec.Action.Route.Name)
		}
		if r.spec.Action.Apply != "" {
			built.Apply = s.ruleLists.use(r.spec.Action.Apply)
		}
		if old := s.rules.set(r.name, built); old != nil {
			s.dropRule(old, true)
		}
	}
	for _, l := range p.ruleLists {
		built := &RuleList{Name: l.name, Auto: l.auto, slot: s.ruleLists.use(l.name)}
		for _, name := range l.spec.rules {
			built.Rules = append(built.Rules, s.rules.use(name))
		}
		for _, h := range l.spec.hosts {
			built.addHosts(h, s.ruleLists.use(h.Rules))
		}
		old := s.ruleLists.set(l.name, built)
		built.slot.uses-- // it is no reference
		if old != nil {
			s.dropRuleList(old, true)
		}
	}
	if p.after != nil {
		p.after()
	}
}

// commitCluster stores a cluster. Endpoints that it has in common with the one that it replaces keep their connections
// and counters.
func (p *plan) commitCluster(c newObject[config.Cluster]) {
	s := p.Store
	built := cluster.New(c.name, c.auto, &c.spec)
	var old []*cluster.Endpoint
	before := s.clusters.get(c.name)
	if before != nil {
		built.Stats = before.Stats
		old = slices.Clone(before.Endpoints())
		for _, e := range old {
			delete(s.endpoints, e.Name)
		}
	}
	var all []*cluster.Endpoint
	for _, spec := range c.spec.Endpoints {
		i := slices.IndexFunc(old, func(e *cluster.Endpoint) bool {
			return e.Spec == spec.Spec && e.Weight == spec.EffectiveWeight() && before.Spec.Port == c.spec.Spec.Port &&
				before.Spec.HTTP2 == c.spec.Spec.HTTP2 && before.Spec.SendTimeout == c.spec.Spec.SendTimeout &&
				before.Spec.TLS == nil && (e.Name == spec.Name || e.Auto && spec.Name == "")
		})
		if i < 0 {
			all = append(all, p.endpoint(built, spec))
			continue
		}
		s.endpoints[old[i].Name] = built
		all = append(all, old[i])
		old = slices.Delete(old, i, i+1)
	}
	built.SetEndpoints(all)
	if s.Check != nil {
		built.Start(s.Context, s.Check)
	}
	s.clusters.set(c.name, built)
	if before != nil {
		before.Stop()
	}
	for _, e := range old {
		e.Close()
	}
}

// endpoint returns a new endpoint of a cluster.
func (p *plan) endpoint(c *cluster.Cluster, e config.Endpoint) *cluster.Endpoint {
	name, auto := e.Name, e.Name == ""
	if auto {
		name = p.name(c.Name, "EndPoint", p.hasEndpoint)
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
