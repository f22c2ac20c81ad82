package osm

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// A TrafficTarget names an account, and the pods of the account tell which Services lead to it. While an account has no
// pods, for example of a Deployment that is scaled to 0, each Service of its namespace could lead to it. A client that
// may call the account waits for its pods: a Service of whose pods the client may call none has no endpoints for it,
// where the sidecars of these pods would deny its requests.
//
// All waiting clients of a namespace have one group, for which a Service has one router: the work does not grow with
// clients times Services. A waiting client that may call some pods of a Service has a group of its own, which takes
// precedence.

// waitingGroup is the client group of the clients that wait for pods in a namespace.
func waitingGroup(namespace string) string { return namespace + ": without pods" }

// waitingReason tells why a waiting client has no endpoints.
const waitingReason = "policies allow the workload to call accounts without pods, and none of the pods here"

// addWaiting adds the rules for clients of accounts without pods. An account that does not exist is a wrong name, for
// which nobody waits.
func (r *rules) addWaiting(g *incremental.Graph) {
	rule := incremental.NewRule(g, "grants of accounts without pods")
	incremental.Each(rule, r.grants, &waitingRule{
		settings: incremental.Reads(rule, r.settings), accounts: incremental.Reads(rule, r.accounts),
		populated: incremental.Reads(rule, r.populated), waiting: incremental.Emits(rule, r.waiting),
	}, (*waitingRule).evaluate)
	rule = incremental.NewRule(g, "group of waiting clients")
	incremental.Each(rule, r.waiting, incremental.Emits(rule, r.clientGroups),
		func(groups *incremental.Emitter[types.NamespacedName, string], namespace string, all []types.NamespacedName) {
			for _, client := range slices.Compact(slices.Clone(all)) { // of several accounts without pods
				groups.Emit(client, waitingGroup(namespace))
			}
		})
}

type waitingRule struct {
	settings  *incremental.Reader[allKey, meshSettings]
	accounts  *incremental.Reader[types.NamespacedName, model.Origin]
	populated *incremental.Reader[types.NamespacedName, struct{}]
	waiting   *incremental.Emitter[string, types.NamespacedName]
}

func (r *waitingRule) evaluate(account types.NamespacedName, all []grant) {
	_, exists := r.accounts.ReadFirst(account)
	_, has := r.populated.ReadFirst(account)
	if settings, _ := r.settings.ReadFirst(allKey{}); !exists || has || settings.permissive {
		return
	}
	clients := map[types.NamespacedName]struct{}{}
	for _, g := range all {
		if !g.streams { // the connection of another client ends, too
			clients[g.client] = struct{}{}
		}
	}
	for client := range maps.Keys(clients) {
		r.waiting.Emit(account.Namespace, client)
	}
}

// waiters are the clients that wait for pods in the namespace of a Service, and what they may call of the Service.
type waiters struct {
	clients map[types.NamespacedName]struct{}
	// ports take requests and have pods.
	ports []servicePort
	// allowed are the clients that may call pods of a port.
	allowed map[uint16]map[types.NamespacedName]struct{}
}

func (r *clientRule) waitersOf(namespace string) *waiters {
	out := &waiters{
		clients: map[types.NamespacedName]struct{}{}, allowed: map[uint16]map[types.NamespacedName]struct{}{},
	}
	for _, client := range r.waiting.Read(namespace) {
		out.clients[client] = struct{}{}
	}
	return out
}

// has reports whether a client waits.
func (w *waiters) has(client types.NamespacedName) bool { _, is := w.clients[client]; return is }

// add adds a port with pods, of which clients may call some.
func (w *waiters) add(p servicePort, allowed map[types.NamespacedName]map[pods]bool) {
	if len(w.clients) == 0 || !p.protocol.Requests() {
		return
	}
	w.ports, w.allowed[p.number] = append(w.ports, p), map[types.NamespacedName]struct{}{}
	for client := range allowed {
		w.allowed[p.number][client] = struct{}{}
	}
}

// restrict adds the ports without pods for a client to its routes.
func (w *waiters) restrict(client types.NamespacedName, of *clientRoutes) {
	if !w.has(client) {
		return
	}
	for _, p := range w.ports {
		if _, may := w.allowed[p.number][client]; !may {
			of.withoutPods(p)
		}
	}
}
