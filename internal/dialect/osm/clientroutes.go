package osm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// grant is a permission of a client to call the pods of an account.
type grant struct {
	client types.NamespacedName
	// streams is true for connections without HTTP.
	streams bool
	ports   []uint16 // of pods; none means all
}

func (g grant) compare(o grant) int {
	kind := func(streams bool) int {
		if streams {
			return 1
		}
		return 0
	}
	return cmp.Or(compareNames(g.client, o.client), kind(g.streams)-kind(o.streams), slices.Compare(g.ports, o.ports))
}

// allows reports whether the client may call a port of a Service.
func (g grant) allows(w way) bool {
	on := func(port uint16) bool { return slices.Contains(g.ports, port) }
	return g.streams != w.port.protocol.Requests() && (len(g.ports) == 0 || slices.ContainsFunc(w.podPorts, on))
}

// leg is what a port of a Service leads to: the Service itself, or a backend of its TrafficSplits.
type leg struct {
	port    uint16 // of the Service
	service types.NamespacedName
}

// clientRoutes are the routes of a Service for a group of clients that differ from those of others: clients that may
// call some of its pods only, and those whose requests are retried.
type clientRoutes struct {
	// name is that of the router and, except for waiting clients, of the client group.
	name string
	// permitted are the accounts that the clients may call, of each leg with pods that they may not call. A port of which
	// they may call no pod has no entry: the sidecars of the pods refuse them.
	permitted map[leg][]string
	// empty are the ports without pods for the clients.
	empty []uint16
	// waiting is true for all waiting clients of the namespace that have no routes of their own.
	waiting bool
	retry   *model.Retry
}

// compare orders routes by precedence.
func (c *clientRoutes) compare(o *clientRoutes) int {
	last := func(c *clientRoutes) int {
		if c.waiting {
			return 1
		}
		return 0
	}
	return cmp.Or(last(c)-last(o), strings.Compare(c.name, o.name))
}

// group is the client group.
func (c *clientRoutes) group(service types.NamespacedName) string {
	if c.waiting {
		return waitingGroup(service.Namespace)
	}
	return c.name
}

// withoutPods adds a port without pods for the clients.
func (c *clientRoutes) withoutPods(p servicePort) {
	c.empty = append(c.empty, p.number)
	c.name += fmt.Sprintf(", %d without pods", p.number)
}

// isEmpty reports whether a port has no pods for the clients.
func (c *clientRoutes) isEmpty(p servicePort) bool {
	return c != nil && slices.Contains(c.empty, p.number)
}

// restrict returns the destinations of a leg for the clients; none if they may call none of its pods.
func (c *clientRoutes) restrict(l leg, all []model.Destination) []model.Destination {
	if c == nil {
		return all
	}
	accounts, restricted := c.permitted[l]
	switch {
	case !restricted:
		return all
	case len(accounts) == 0:
		return nil
	}
	for i := range all {
		all[i].Name = restrictedName(all[i].Name, accounts)
	}
	return all
}

// restrictedName is the name of a destination for clients that may call the pods of these accounts only.
func restrictedName(destination string, accounts []string) string {
	return destination + "@" + strings.Join(accounts, "+")
}

// restriction is a port of a Service for clients that may call the pods of some of its accounts only.
type restriction struct {
	port     uint16
	accounts []string
}

func (r restriction) compare(o restriction) int {
	return cmp.Or(cmp.Compare(r.port, o.port), slices.Compare(r.accounts, o.accounts))
}

// addClientRoutes adds the rule for clients with routes of their own.
func (r *rules) addClientRoutes(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "routes of clients")
	incremental.Each(rule, store.Of[*corev1.Service](objects), &clientRule{
		membership: r.readsMembership(rule), wayReader: r.readsWays(rule, objects),
		settings: incremental.Reads(rule, r.settings), grants: incremental.Reads(rule, r.grants),
		retries: incremental.Reads(rule, r.retries), waiting: incremental.Reads(rule, r.waiting),
		clientRoutes: incremental.Emits(rule, r.clientRoutes), clientGroups: incremental.Emits(rule, r.clientGroups),
		restrictions: incremental.Emits(rule, r.restrictions),
	}, (*clientRule).evaluate)
}

type clientRule struct {
	membership
	wayReader
	settings     *incremental.Reader[allKey, meshSettings]
	grants       *incremental.Reader[types.NamespacedName, grant]
	retries      *incremental.Reader[types.NamespacedName, *retry]
	waiting      *incremental.Reader[string, types.NamespacedName]
	clientRoutes *incremental.Emitter[types.NamespacedName, *clientRoutes]
	clientGroups *incremental.Emitter[types.NamespacedName, string]
	restrictions *incremental.Emitter[types.NamespacedName, restriction]
}

func (r *clientRule) evaluate(name types.NamespacedName, all []*corev1.Service) {
	if _, is := r.of(name.Namespace); !is || all[0].Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	found, waiters := map[types.NamespacedName]*clientRoutes{}, r.waitersOf(name.Namespace)
	if settings, _ := r.settings.ReadFirst(allKey{}); !settings.permissive {
		for _, p := range portsOf(all[0]) {
			r.restrictPort(name, p, found, waiters)
		}
	}
	for _, of := range r.retries.Read(name) {
		if routes := routesOf(found, of.client); routes.retry == nil { // the oldest
			routes.retry = &of.policy
			routes.name += ", retry " + of.name.String()
		}
	}
	if len(waiters.ports) > 0 {
		all := &clientRoutes{waiting: true}
		for _, p := range waiters.ports {
			all.withoutPods(p)
		}
		all.name = name.String() + ": waiting" + all.name
		r.clientRoutes.Emit(name, all)
	}
	emitted := map[string]bool{}
	for client, of := range found {
		waiters.restrict(client, of)
		of.name = name.String() + ": " + strings.TrimPrefix(of.name, ", ")
		r.clientGroups.Emit(client, of.name)
		if !emitted[of.name] {
			emitted[of.name] = true
			r.clientRoutes.Emit(name, of)
		}
	}
}

// routesOf returns the routes of a client.
func routesOf(found map[types.NamespacedName]*clientRoutes, client types.NamespacedName) *clientRoutes {
	of := found[client]
	if of == nil {
		of = &clientRoutes{permitted: map[leg][]string{}}
		found[client] = of
	}
	return of
}

// pods are the pods of an account on a way.
type pods struct {
	way     int
	account string
}

// restrictPort adds a port to the routes of the clients that may call some of the pods behind it only.
func (r *clientRule) restrictPort(name types.NamespacedName, p servicePort,
	found map[types.NamespacedName]*clientRoutes, waiters *waiters) {
	ways, all := r.waysOf(name, p), 0
	for _, w := range ways {
		all += len(w.accounts)
	}
	if all == 0 || all == 1 && len(waiters.clients) == 0 {
		return
	}
	allowed := map[types.NamespacedName]map[pods]bool{} // by client
	for i, w := range ways {
		for _, account := range w.accounts {
			for _, g := range r.grants.Read(types.NamespacedName{Namespace: w.service.Namespace, Name: account}) {
				if !g.allows(w) {
					continue
				}
				if allowed[g.client] == nil {
					allowed[g.client] = map[pods]bool{}
				}
				allowed[g.client][pods{i, account}] = true
			}
		}
	}
	for client, may := range allowed {
		switch {
		case len(may) < all:
			r.restrictWays(p, ways, may, routesOf(found, client))
		case waiters.has(client):
			routesOf(found, client).name += fmt.Sprintf(", %d", p.number)
		}
	}
	waiters.add(p, allowed)
}

// restrictWays adds the ways of a port to the routes of a client that may call some of the pods only.
func (r *clientRule) restrictWays(p servicePort, ways []way, may map[pods]bool, of *clientRoutes) {
	for i, w := range ways {
		var accounts []string
		for _, account := range w.accounts {
			if may[pods{i, account}] {
				accounts = append(accounts, account)
			}
		}
		if len(accounts) == len(w.accounts) {
			continue
		}
		of.permitted[leg{p.number, w.service}] = accounts
		if len(accounts) == 0 {
			of.name += fmt.Sprintf(", %d without %s", p.number, w.service.Name)
			continue
		}
		of.name += fmt.Sprintf(", %d to %s", p.number, restrictedName(w.service.Name, accounts))
		r.restrictions.Emit(w.service, restriction{w.port.number, accounts})
	}
}
