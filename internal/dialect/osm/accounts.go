package osm

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// defaultAccount is the ServiceAccount of pods that name none.
const defaultAccount = "default"

// addAccounts adds the rules that emit a workload for each ServiceAccount of members.
func (r *rules) addAccounts(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "ServiceAccount")
	incremental.Each(rule, store.Of[*corev1.ServiceAccount](objects), incremental.Emits(rule, r.accounts),
		func(out *incremental.Emitter[types.NamespacedName, model.Origin], name types.NamespacedName,
			all []*corev1.ServiceAccount) {
			out.Emit(name, accountOrigin(name))
		})
	rule = incremental.NewRule(g, "account")
	incremental.Each(rule, r.accounts, &accountRule{
		membership: r.readsMembership(rule), trustDomain: r.dialect.trustDomain(),
		settings: incremental.Reads(rule, r.settings), listened: incremental.Reads(rule, r.listened),
		clientGroups: incremental.Reads(rule, r.clientGroups), egress: incremental.Reads(rule, r.egress),
		upstreams: incremental.Reads(rule, r.upstreams), sharedNames: incremental.Reads(rule, r.sharedNames),
		workloads: r.out.EmitsWorkloads(rule), policies: r.out.EmitsAuthorizationPolicies(rule),
		members: incremental.Emits(rule, r.out.Members), findings: r.out.EmitsFindings(rule),
	}, (*accountRule).evaluate)
}

// accountOrigin is the origin of a workload. It has no age, so that it does not depend on whether the object is known.
func accountOrigin(name types.NamespacedName) model.Origin {
	return model.NewOrigin(model.ObjectRef{Kind: "ServiceAccount", Namespace: name.Namespace, Name: name.Name})
}

// accountRule emits the workload of an account.
type accountRule struct {
	membership
	trustDomain string
	settings    *incremental.Reader[allKey, meshSettings]
	listened    *incremental.Reader[types.NamespacedName, portUse]
	egress      *incremental.Reader[types.NamespacedName, *accountEgress]
	// clientGroups are those of the account.
	clientGroups *incremental.Reader[types.NamespacedName, string]
	upstreams    *incremental.Reader[types.NamespacedName, *upstreamSetting]
	sharedNames  *incremental.Reader[string, string]
	workloads    store.Output[model.Key, model.Workload]
	policies     store.Output[model.Key, model.AuthorizationPolicy]
	members      *incremental.Emitter[model.ObjectRef, string]
	findings     store.Output[model.ObjectRef, model.Finding]
}

func (r *accountRule) evaluate(account types.NamespacedName, all []model.Origin) {
	mesh, is := r.of(account.Namespace)
	if !is {
		return
	}
	key := model.Key{Mesh: mesh, Name: account.String()}
	w := model.Workload{
		Key: key, Role: model.RoleSidecar, BackendsAll: true, Authorize: true, Origin: all[0],
		NodeID: mesh + "/" + key.Name, ClientGroups: slices.Clone(r.clientGroups.Read(account)),
	}
	if _, shared := r.sharedNames.ReadFirst(account.Namespace); shared {
		w.ClientGroups = append(w.ClientGroups, account.Namespace)
	}
	tls := &model.ServerTLS{
		Mode: model.TLSStrict, Validation: meshTrust(r.trustDomain), Origin: all[0],
		Certificate: &model.Certificate{Secret: model.Secret{
			Provider: model.ProviderMesh, Name: identityOf(r.trustDomain, account).String(),
		}},
	}
	for _, use := range r.listened.Read(account) {
		at := model.NewOrigin(model.ObjectRef{Kind: "Service", Namespace: use.service.Namespace, Name: use.service.Name}).
			At(fmt.Sprintf("spec.ports[%d]", use.index))
		if last := len(w.Listeners) - 1; last >= 0 && w.Listeners[last].Port == use.port {
			r.conflict(account, w.Listeners[last], use, at)
		} else {
			w.Listeners = append(w.Listeners, model.Listener{Port: use.port, Protocol: use.protocol, TLS: tls, Origin: at})
		}
		r.addLimits(&w.Listeners[len(w.Listeners)-1], use.service)
	}
	for _, e := range r.egress.Read(account) {
		w.External = append(w.External, e.services...)
		for _, rule := range e.rules {
			rule.Addresses, rule.ServerNames = slices.Clone(rule.Addresses), slices.Clone(rule.ServerNames)
			w.EgressRules = append(w.EgressRules, rule)
		}
	}
	r.workloads.Emit(w)
	r.members.Emit(all[0].Object(), mesh)
	if settings, known := r.settings.ReadFirst(allKey{}); known && settings.permissive {
		r.permissive(key, settings.origin.At(permissivePath))
	}
}

// conflict reports a port that pods of an account serve with two protocols.
func (r *accountRule) conflict(account types.NamespacedName, l model.Listener, use portUse, at model.Origin) {
	if l.Protocol == use.protocol {
		return
	}
	r.findings.Emit(model.NewFinding(at, model.CodePortConflict, fmt.Sprintf(
		"pods of ServiceAccount %s serve port %d as %s for %s, which is older, so that it is not served as %s; "+
			"use another ServiceAccount or another port", account, use.port, l.Protocol, l.Origin.Object(), use.protocol)))
}

// addLimits adds the limits of a Service to a listener, unless those of an older one apply. A limit of the requests on
// a connection is one of the sidecar of the client, too.
func (r *accountRule) addLimits(l *model.Listener, service types.NamespacedName) {
	of, known := r.upstreams.ReadFirst(service)
	if !known {
		return
	}
	if l.ConnectionRate == nil && len(l.RequestRates) == 0 {
		l.ConnectionRate, l.RequestRates = of.connections, of.requests
	}
	if of.limits != nil && l.RequestsPerConnection == 0 && l.Protocol.Requests() {
		l.RequestsPerConnection = of.limits.MaxRequestsPerConnection
	}
}

// permissive allows every member to call the workload.
func (r *accountRule) permissive(workload model.Key, at model.Origin) {
	for _, streams := range []bool{false, true} {
		r.policies.Emit(model.AuthorizationPolicy{
			Key: model.Key{Mesh: workload.Mesh, Name: "permissive"}, Workload: workload.Name, Everyone: true,
			Streams: streams, Origin: at,
		})
	}
}
