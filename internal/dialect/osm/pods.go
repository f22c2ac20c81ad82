package osm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// portUse is a port on which pods of an account serve a port of a Service.
type portUse struct {
	account  types.NamespacedName
	port     uint16
	protocol model.Protocol
	service  types.NamespacedName
	created  int64 // of the Service
	index    int   // in spec.ports
}

// compare orders uses by port and the age of the Service.
func (u portUse) compare(o portUse) int {
	return cmp.Or(cmp.Compare(u.port, o.port), cmp.Compare(u.created, o.created), compareNames(u.service, o.service),
		cmp.Compare(u.index, o.index), strings.Compare(string(u.protocol), string(o.protocol)))
}

// serviceAccount is an account of pods of a Service.
type serviceAccount struct {
	service types.NamespacedName
	account string
}

// addPods adds the rules for pods.
func (r *rules) addPods(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "Pod")
	incremental.Each(rule, store.Of[*store.Pod](objects), &podRule{
		membership: r.readsMembership(rule), trustDomain: r.dialect.trustDomain(),
		selectors: incremental.Reads(rule, r.selectors), accounts: incremental.Emits(rule, r.accounts),
		running: incremental.Emits(rule, r.running), used: incremental.Emits(rule, r.used),
		behind:  incremental.Emits(rule, r.behind),
		targets: incremental.Emits(rule, r.targets), endpoints: r.out.EmitsEndpoints(rule),
	}, (*podRule).evaluate)
	// The pods of a Deployment use the same ports. Whoever reads them must not depend on the number of pods.
	rule = incremental.NewRule(g, "used ports")
	incremental.Each(rule, r.used, incremental.Emits(rule, r.listened),
		func(out *incremental.Emitter[types.NamespacedName, portUse], use portUse, _ []struct{}) {
			out.Emit(use.account, use)
		})
	rule = incremental.NewRule(g, "accounts with pods")
	incremental.Each(rule, r.running, incremental.Emits(rule, r.populated),
		func(out *incremental.Emitter[types.NamespacedName, struct{}], account types.NamespacedName, _ []struct{}) {
			out.Emit(account, struct{}{})
		})
	rule = incremental.NewRule(g, "accounts of pods")
	incremental.Each(rule, r.behind, incremental.Emits(rule, r.identities),
		func(out *incremental.Emitter[types.NamespacedName, string], of serviceAccount, _ []struct{}) {
			out.Emit(of.service, of.account)
		})
	rule = incremental.NewRule(g, "named ports of pods")
	incremental.Each(rule, r.targets, incremental.Emits(rule, r.targetPorts),
		func(out *incremental.Emitter[types.NamespacedName, namedTarget], t namedTarget, _ []struct{}) {
			out.Emit(t.service, t)
		})
}

// podRule adds the endpoints of members with a sidecar.
type podRule struct {
	membership
	trustDomain string
	selectors   *incremental.Reader[selectorIndex, selectingService]
	accounts    *incremental.Emitter[types.NamespacedName, model.Origin]
	running     *incremental.Emitter[types.NamespacedName, struct{}]
	used        *incremental.Emitter[portUse, struct{}]
	behind      *incremental.Emitter[serviceAccount, struct{}]
	targets     *incremental.Emitter[namedTarget, struct{}]
	endpoints   store.Output[model.Instance, model.Endpoint]
}

func (r *podRule) evaluate(_ types.NamespacedName, all []*store.Pod) {
	pod := all[0]
	if pod.Terminated || !pod.HasProxy() || !pod.Of(r.dialect.Name()) {
		return
	}
	mesh, is := r.of(pod.Namespace())
	if !is {
		return
	}
	account := types.NamespacedName{
		Namespace: pod.Namespace(), Name: cmp.Or(pod.Settings().ServiceAccount, defaultAccount),
	}
	r.accounts.Emit(account, accountOrigin(account))
	r.running.Emit(account, struct{}{})
	e := store.EndpointOf(pod, model.Key{Mesh: mesh, Name: account.String()}, r.trustDomain)
	for _, s := range r.selecting(pod) {
		e.Groups = append(e.Groups, group(s.name, "", 0))
		r.behind.Emit(serviceAccount{s.name, account.Name}, struct{}{})
		for _, p := range s.ports {
			target := p.target
			if p.targetName != "" {
				number, err := strconv.ParseUint(pod.Settings().Ports.Get(p.targetName), 10, 16)
				if err != nil {
					continue // the pod has no such port, and the Service does not lead to it
				}
				target = uint16(number)
				e.Groups = append(e.Groups, group(s.name, p.targetName, target))
				r.targets.Emit(namedTarget{s.name, p.targetName, target}, struct{}{})
			}
			r.used.Emit(portUse{account, target, p.protocol, s.name, s.origin.Created, p.index}, struct{}{})
		}
	}
	e.Groups = sorted(e.Groups)
	r.endpoints.Emit(e)
}

// selecting lists the Services that select a pod, in order.
func (r *podRule) selecting(pod *store.Pod) []selectingService {
	var found []selectingService
	for label, value := range pod.Labels.All() {
		for _, s := range r.selectors.Read(selectorIndex{pod.Namespace(), label, value}) {
			if s.selects(pod.Labels) {
				found = append(found, s)
			}
		}
	}
	slices.SortFunc(found, func(a, b selectingService) int { return compareNames(a.name, b.name) })
	return found
}
