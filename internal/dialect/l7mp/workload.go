package l7mp

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// servedListener is the listener of a VirtualService in the proxies of pods.
type servedListener struct {
	pods podSet
	name types.NamespacedName
}

// router returns the name of the router of the listener.
func (l servedListener) router() string { return l.pods.String() + ":" + l.name.String() }

// addWorkloads adds the rules for workloads and their routers.
func (r *rules) addWorkloads(g *incremental.Graph) {
	rule := incremental.NewRule(g, "workload")
	incremental.Each(rule, r.podSets, &workloadRule{
		incremental.Reads(rule, r.listeners), incremental.Emits(rule, r.members), incremental.Emits(rule, r.served),
		r.out.EmitsWorkloads(rule), r.out.EmitsFindings(rule),
	}, (*workloadRule).evaluate)
	rule = incremental.NewRule(g, "mesh")
	incremental.Each(rule, r.members, &meshRule{r.dialect.trustDomain(), r.out.EmitsMeshes(rule)}, (*meshRule).evaluate)
	rule = incremental.NewRule(g, "listener")
	incremental.Each(rule, r.served, &routerRule{
		incremental.Reads(rule, r.virtualServices), incremental.Reads(rule, r.routes), incremental.Reads(rule, r.resolved),
		r.out.EmitsRouters(rule), r.out.EmitsFindings(rule),
	}, (*routerRule).evaluate)
}

// workloadRule emits the workload of pods with a proxy.
type workloadRule struct {
	listeners *incremental.Reader[podSet, *listener]
	members   *incremental.Emitter[allKey, struct{}]
	served    *incremental.Emitter[servedListener, *listener]
	workloads store.Output[model.Key, model.Workload]
	findings  store.Output[model.ObjectRef, model.Finding]
}

func (r *workloadRule) evaluate(pods podSet, proxied []bool) {
	all := r.listeners.Read(pods)
	if !slices.Contains(proxied, true) {
		for _, l := range all {
			f := model.NewFinding(l.origin.At("spec.selector"), model.CodeNoProxy, fmt.Sprintf(
				"it has rules, and selects pods of %s, of which none has a proxy; name a container of them %s and enable "+
					"injection, or remove the rules; pods in the network of their node get no proxy", pods, proxyContainer))
			f.Severity = model.Error
			r.findings.Emit(f)
		}
		return
	}
	r.members.Emit(allKey{}, struct{}{})
	key := pods.workload()
	w := model.Workload{Key: key, Role: model.RoleGateway, NodeID: nodeID(key), Origin: injectionOrigin(pods.namespace)}
	if len(all) > 0 {
		w.Origin = all[0].origin
	}
	taken := map[string]*listener{}
	for _, l := range all {
		name := l.socketName()
		if first := taken[name]; first != nil {
			r.conflict(first, l, name)
			continue
		}
		taken[name] = l
		at := servedListener{pods, l.name}
		r.served.Emit(at, l)
		w.Listeners = append(w.Listeners, l.item(at.router()))
	}
	slices.SortStableFunc(w.Listeners, func(a, b model.Listener) int { return int(a.Port) - int(b.Port) })
	r.workloads.Emit(w)
}

// nodeID is the xDS node id of the proxies of a workload.
func nodeID(key model.Key) string { return mesh + "/" + key.Name }

// item returns the item of the model.
func (l *listener) item(router string) model.Listener {
	out := model.Listener{
		Port: l.port, Socket: l.socket, Peer: l.peer, Router: router, TrackSessions: l.track, EndSessions: l.endSessions,
		Origin: l.origin.At(listenerPath),
	}
	out.Protocol, out.Transport = l.spoken()
	return out
}

// listenerPath is the path of the protocol and the port.
const listenerPath = "spec.listener.spec"

// conflict reports a listener whose socket an older one has.
func (r *workloadRule) conflict(first, l *listener, socket string) {
	f := model.NewFinding(l.origin.At(listenerPath), model.CodePortConflict, fmt.Sprintf(
		"%s has %s of the same pods, and is older; %s is not served", first.origin.Object(), socket, l.origin.Object()))
	f.Severity = model.Warning
	r.findings.Emit(f)
}

// routerRule emits the routes of a listener.
type routerRule struct {
	virtualServices *incremental.Reader[types.NamespacedName, *virtualService]
	routes          *incremental.Reader[types.NamespacedName, *route]
	resolved        *incremental.Reader[types.NamespacedName, *cluster]
	routers         store.Output[model.Key, model.Router]
	findings        store.Output[model.ObjectRef, model.Finding]
}

func (r *routerRule) evaluate(at servedListener, _ []*listener) {
	v, known := r.virtualServices.ReadFirst(at.name)
	if !known {
		return
	}
	router := model.Router{Key: model.Key{Mesh: mesh, Name: at.router()}, Origin: v.origin}
	protocol, _ := v.spoken()
	for _, rule := range v.rules {
		action := r.action(at.pods, v, rule)
		for i, m := range rule.matches {
			name := rule.name
			if i > 0 {
				name = fmt.Sprintf("%s/%d", name, i)
			}
			router.Routes = append(router.Routes, model.Route{
				Name: name, Protocol: protocol, Match: m, Action: action, Origin: rule.origin,
			})
		}
	}
	r.routers.Emit(router)
}

// action returns what happens with the connections of a rule. Without a destination, they are refused.
func (r *routerRule) action(pods podSet, v *virtualService, of rule) model.Action {
	out := model.Action{Rewrite: of.rewrite}
	to := of.route
	if of.named.Name != "" {
		var known bool
		if to, known = r.routes.ReadFirst(of.named); !known {
			r.report(of.origin.At(of.origin.Path+".action"), model.CodeReferenceNotFound, "there is no Route %s", of.named)
		}
	}
	if to == nil || to.destination == nil || to.faulty {
		return out
	}
	out.Retry = to.retry
	target, c := r.hop(pods, v, *to.destination)
	if c == nil {
		return out
	}
	convert := !same(v.transport, c.transport)
	if convert && c.protocol == model.HTTP {
		r.report(to.destination.origin, model.CodeFieldNotImplemented,
			"%s accepts %s, and the destination speaks %s: there is no such conversion; connections are refused",
			v.origin.Object(), v.protocol, c.protocol)
		return out
	}
	chains := [2][]string{}
	at, stream := to.destination.origin, c
	for i, chain := range [][]hop{to.ingress, to.egress} {
		for _, h := range chain {
			name, through := r.hop(pods, v, h)
			if through == nil {
				return out // connections must not pass beside it
			}
			chains[i] = append(chains[i], name)
			if !stream.bytes() {
				at, stream = h.origin, through
			}
		}
	}
	if v.messages() && stream.bytes() {
		r.report(at, model.CodeBoundaries,
			"%s accepts messages of %s, which lose their boundaries in a stream of bytes of %s",
			v.origin.Object(), v.protocol, stream.protocol)
	}
	out.ForwardChain, out.ReverseChain, out.Convert = chains[0], chains[1], convert
	out.Destinations = []model.WeightedDestination{{Destination: target, Weight: 1, Origin: to.destination.origin}}
	return out
}

// hop returns the name of the destination of an entry of a route, or nil if there is none for these pods.
func (r *routerRule) hop(pods podSet, v *virtualService, h hop) (string, *cluster) {
	c, name := h.cluster, h.inline
	if c == nil {
		c, _ = r.resolved.ReadFirst(h.NamespacedName)
		name = h.String()
	}
	switch {
	case c == nil || !c.usable || h.kind != "" && c.kind != h.kind:
		return "", nil // the name has a finding
	case c.placed != nil && !c.placed.selects(pods):
		r.report(h.origin, model.CodeReferenceNotFound,
			"%s does not select the pods of %s, which %s selects: they cannot connect to it", c.origin.Object(), pods,
			v.origin.Object())
		return "", nil
	}
	return name, c
}

func (r *routerRule) report(at model.Origin, code model.Code, format string, args ...any) {
	r.findings.Emit(model.NewFinding(at, code, fmt.Sprintf(format, args...)))
}

// messages reports whether sessions have messages, whose boundaries are kept.
func (t transport) messages() bool {
	return t.protocol == model.WebSocket || t.protocol == model.UDP
}

// bytes reports whether sessions are streams of bytes. Protocols that the proxy itself serves are not: they pass what
// comes.
func (t transport) bytes() bool { return t.protocol == model.TCP || t.protocol == model.Unix }

// same reports whether what a listener accepts can be sent to a destination as it is.
func same(from, to transport) bool {
	a, _ := from.spoken()
	b, _ := to.spoken()
	stream := func(p model.Protocol) bool { return p == model.TCP || p == model.Unix }
	return a == b || stream(a) && stream(b)
}
