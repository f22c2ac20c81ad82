package osm

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

const kindUpstreamTrafficSetting = "UpstreamTrafficSetting"

// accountEgress is what an Egress lets an account reach: private services, and connections that are passed.
type accountEgress struct {
	services []model.Backend
	rules    []model.EgressRule
	origin   model.Origin
}

// addEgress adds the rule for Egress objects.
func (r *rules) addEgress(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "Egress")
	incremental.Each(rule, store.Of[*policy.Egress](objects), &egressRule{
		policyRule: r.readsPolicies(rule), settings: incremental.Reads(rule, r.settings),
		httpGroups: incremental.Reads(rule, r.httpGroups), egress: incremental.Emits(rule, r.egress),
		upstreams: incremental.Reads(rule, r.upstreamSettings),
		services:  r.out.EmitsServices(rule), routers: r.out.EmitsRouters(rule),
		destinations: r.out.EmitsDestinations(rule),
	}, (*egressRule).evaluate)
}

type egressRule struct {
	policyRule
	settings     *incremental.Reader[allKey, meshSettings]
	httpGroups   *incremental.Reader[types.NamespacedName, *httpGroup]
	upstreams    *incremental.Reader[types.NamespacedName, *upstreamSetting]
	egress       *incremental.Emitter[types.NamespacedName, *accountEgress]
	services     store.Output[model.Key, model.Service]
	routers      store.Output[model.Key, model.Router]
	destinations store.Output[model.Key, model.Destination]
}

// egressObject is an Egress without what is invalid.
type egressObject struct {
	*policy.Egress
	mesh   string
	at     model.Origin
	hosts  []string // in lower case
	ranges []netip.Prefix
	// restricted is true if only the requests of matches are allowed.
	restricted bool
	matches    []model.Match
	upstream   *upstreamSetting
}

func (r *egressRule) evaluate(name types.NamespacedName, all []*policy.Egress) {
	e := egressObject{Egress: all[0]}
	var is bool
	if e.at, e.mesh, is = r.member(policy.GroupVersion.Group, "Egress", e.Egress); !is {
		return
	}
	if settings, _ := r.settings.ReadFirst(allKey{}); settings.egress {
		r.warn(e.at, "", model.CodeNoEffect,
			"has no effect while %s of MeshConfig is true: every destination is reachable", egressPath)
		return
	}
	r.readDestinations(&e)
	r.readMatches(&e)
	out := &accountEgress{origin: e.at}
	http := map[string][]policy.Port{} // by host
	for i, p := range e.Spec.Ports {
		r.readPort(&e, i, p, http, out)
	}
	for _, host := range e.hosts {
		if len(http[host]) > 0 {
			out.services = append(out.services, r.host(&e, host, http[host]))
		}
	}
	for i, s := range e.Spec.Sources {
		path := fmt.Sprintf("spec.sources[%d]", i)
		if account, ok := r.account(e.at, path, s.Kind, s.Name, s.Namespace); ok {
			r.egress.Emit(account, out)
		}
		if s.MTLS != nil {
			r.report(e.at, path+".mtls", model.CodeFieldNotImplemented,
				"has no effect: the sidecar passes connections as they are, and the application has to use the certificate")
		}
	}
	if len(e.Spec.Sources) == 0 {
		r.report(e.at, "spec.sources", model.CodeInvalidField, "is empty, so that nobody is allowed")
	}
}

// readDestinations reads hosts and addresses. An entry that is invalid allows nothing, and the others apply.
func (r *egressRule) readDestinations(e *egressObject) {
	for i, host := range e.Spec.Hosts {
		if host == "" || strings.ContainsAny(host, ":/ ") {
			r.report(e.at, fmt.Sprintf("spec.hosts[%d]", i), model.CodeInvalidField, "%q is not a host name; it has no effect", host)
			continue
		}
		e.hosts = append(e.hosts, strings.ToLower(host))
	}
	e.hosts = sorted(e.hosts)
	for i, text := range e.Spec.IPAddresses {
		if p, ok := r.addressRange(e.at, fmt.Sprintf("spec.ipAddresses[%d]", i), text); ok {
			e.ranges = append(e.ranges, p)
		}
	}
}

// readMatches reads the requests that are allowed. An entry that is invalid allows none, and the others apply.
func (r *egressRule) readMatches(e *egressObject) {
	for i, m := range e.Spec.Matches {
		path := fmt.Sprintf("spec.matches[%d]", i)
		name := types.NamespacedName{Namespace: e.Namespace, Name: m.Name}
		switch m.Kind {
		case kindHTTPRouteGroup:
			e.restricted = true
			if !r.inGroup(e.at, path, m.APIGroup, specs.GroupVersion.Group) {
				continue
			}
			if group, known := r.routeGroup(e.at, path+".name", name, r.httpGroups); known {
				e.matches = append(e.matches, group.all()...)
			}
		case kindUpstreamTrafficSetting:
			if !r.inGroup(e.at, path, m.APIGroup, policy.GroupVersion.Group) {
				continue
			}
			setting, known := r.upstreams.ReadFirst(name)
			switch {
			case !known:
				r.report(e.at, path+".name", model.CodeReferenceNotFound, "%s %s does not exist", m.Kind, name)
			case e.upstream != nil:
				r.report(e.at, path, model.CodeInvalidField, "has no effect: there is another %s", m.Kind)
			default:
				e.upstream = setting
			}
		default:
			e.restricted = true
			r.report(e.at, path+".kind", model.CodeInvalidField, "%q is neither %s nor %s; it allows no request", m.Kind,
				kindHTTPRouteGroup, kindUpstreamTrafficSetting)
		}
	}
}

// readPort adds what a port allows.
func (r *egressRule) readPort(e *egressObject, i int, p policy.Port, http map[string][]policy.Port,
	out *accountEgress) {
	path := fmt.Sprintf("spec.ports[%d]", i)
	at := e.at.At(path)
	if p.Number < 1 || p.Number > 65535 {
		r.report(e.at, path+".number", model.CodeInvalidField, "%d is not a port from 1 to 65535", p.Number)
		return
	}
	rule := model.EgressRule{Port: uint16(p.Number), Origin: at}
	switch protocol := strings.ToLower(p.Protocol); protocol {
	case "http", "https":
		if len(e.hosts) == 0 {
			r.report(e.at, path+".protocol", model.CodeInvalidField,
				"%s needs spec.hosts, and allows nothing; for addresses, use tcp", protocol)
			return
		}
		if protocol == "http" {
			r.addHTTP(e, p, http)
			return
		}
		if e.restricted {
			r.warn(e.at, path+".protocol", model.CodeInvalidField,
				"the requests in https are encrypted: an %s does not restrict them", kindHTTPRouteGroup)
		}
		rule.ServerNames = slices.Clone(e.hosts)
	case "tcp", "tcp-server-first":
		if len(e.Spec.IPAddresses) == 0 && len(e.hosts) > 0 {
			r.report(e.at, path+".protocol", model.CodeInvalidField,
				"%s needs spec.ipAddresses, because a connection has no host name, and allows nothing", protocol)
			return
		}
		if len(e.ranges) == 0 && len(e.Spec.IPAddresses) > 0 {
			return // no address is valid
		}
		rule.Addresses = slices.Clone(e.ranges)
	default:
		r.report(e.at, path+".protocol", model.CodeInvalidField,
			"%q is not http, https, tcp or tcp-server-first; the port allows nothing", p.Protocol)
		return
	}
	out.rules = append(out.rules, rule)
}

// addHTTP adds a port to the hosts that the sidecar can resolve.
func (r *egressRule) addHTTP(e *egressObject, p policy.Port, http map[string][]policy.Port) {
	for i, host := range e.Spec.Hosts {
		if strings.Contains(host, "*") {
			r.report(e.at, fmt.Sprintf("spec.hosts[%d]", i), model.CodeInvalidField,
				"%q is a pattern, and the sidecar has to resolve the hosts of http; it has no effect for port %d", host, p.Number)
		}
	}
	for _, host := range e.hosts {
		if !strings.Contains(host, "*") {
			http[host] = append(http[host], p)
		}
	}
}

// host emits the private service for a host.
func (r *egressRule) host(e *egressObject, host string, ports []policy.Port) model.Backend {
	key := model.Key{Mesh: e.mesh, Name: fmt.Sprintf("egress/%s/%s/%s", e.Namespace, e.Name, host)}
	router := model.Router{Key: key, Origin: e.at}
	for _, p := range ports {
		port := uint16(p.Number)
		if slices.ContainsFunc(router.Ports, func(o model.RouterPort) bool { return o.Port == port }) {
			continue
		}
		router.Ports = append(router.Ports, model.RouterPort{Port: port, Protocol: model.HTTP, Origin: e.at})
		d := model.Destination{
			Key: model.Key{Mesh: e.mesh, Name: fmt.Sprintf("%s:%d", key.Name, port)}, Port: port, Protocol: model.HTTP,
			Discovery: model.Discovery{Kind: model.DiscoverDNS, Hostname: host}, Origin: e.at,
		}
		if e.upstream != nil && e.upstream.host == host {
			d.Limits = e.upstream.limits
		}
		r.destinations.Emit(d)
		matches := e.matches
		if !e.restricted {
			matches = []model.Match{{}}
		}
		for i, m := range matches {
			router.Routes = append(router.Routes, model.Route{
				Name: fmt.Sprintf("%s/%d", e.Name, i), Port: port, Protocol: model.HTTP, Match: m, Origin: e.at,
				Action: model.Action{Destinations: []model.WeightedDestination{{Destination: d.Name, Weight: 1, Origin: e.at}}},
			})
		}
	}
	r.routers.Emit(router)
	r.services.Emit(model.Service{Key: key, Hosts: []string{host}, Private: true, Router: key.Name, Origin: e.at})
	return model.Backend{Service: key.Name, Path: "spec.hosts", Object: new(e.at.Object())}
}
