package osm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// clusterDomain is the domain of the cluster's DNS.
const clusterDomain = "cluster.local"

// selectorIndex is the index key of selectors: the namespace and one of the labels that the selector requires.
type selectorIndex struct{ namespace, label, value string }

// selectingService is a Service with a selector.
type selectingService struct {
	name     types.NamespacedName
	selector map[string]string
	ports    []servicePort
	origin   model.Origin
}

// selects reports whether the Service selects a pod with the labels.
func (s *selectingService) selects(labels store.Labels) bool {
	for key, value := range s.selector {
		if v, has := labels.Lookup(key); !has || v != value {
			return false
		}
	}
	return true
}

// servicePort is a TCP port of a Service.
type servicePort struct {
	index    int // in spec.ports
	number   uint16
	protocol model.Protocol
	// target is the port of pods; 0 if it is that with the name targetName in each pod.
	target     uint16
	targetName string
}

// namedTarget is the number that a named target port of a Service has in pods.
type namedTarget struct {
	service types.NamespacedName
	name    string
	number  uint16
}

func (t namedTarget) compare(o namedTarget) int {
	return cmp.Or(strings.Compare(t.name, o.name), cmp.Compare(t.number, o.number))
}

// group is the endpoint group of the pods of a Service, for a named target port of those in which it has the number.
func group(service types.NamespacedName, targetName string, number uint16) string {
	if targetName == "" {
		return service.String()
	}
	return fmt.Sprintf("%s:%d", service, number)
}

// addServices adds the rules for Services.
func (r *rules) addServices(g *incremental.Graph, objects *store.Objects) {
	services := store.Of[*corev1.Service](objects)
	rule := incremental.NewRule(g, "selectors of Services")
	incremental.Each(rule, services, &selectorRule{
		r.readsMembership(rule), incremental.Emits(rule, r.selectors), incremental.Emits(rule, r.shortNames),
	}, (*selectorRule).evaluate)
	rule = incremental.NewRule(g, "names of several Services")
	incremental.EachSeveral(rule, r.shortNames, incremental.Emits(rule, r.sharedNames),
		func(shared *incremental.Emitter[string, string], name model.Key, namespaces []string) {
			for _, namespace := range namespaces {
				shared.Emit(namespace, name.Name)
			}
		})
	rule = incremental.NewRule(g, "Service")
	incremental.Each(rule, services, &serviceRule{
		membership: r.readsMembership(rule), wayReader: r.readsWays(rule, objects), trustDomain: r.dialect.trustDomain(),
		upstreams: incremental.Reads(rule, r.upstreams), shortNames: incremental.Reads(rule, r.shortNames),
		clientRoutes: incremental.Reads(rule, r.clientRoutes), restrictions: incremental.Reads(rule, r.restrictions),
		services: r.out.EmitsServices(rule), routers: r.out.EmitsRouters(rule),
		destinations: r.out.EmitsDestinations(rule), members: incremental.Emits(rule, r.out.Members),
		findings: r.out.EmitsFindings(rule),
	}, (*serviceRule).evaluate)
}

// selectorRule indexes the selectors and the names of the Services of members.
type selectorRule struct {
	membership
	selectors  *incremental.Emitter[selectorIndex, selectingService]
	shortNames *incremental.Emitter[model.Key, string]
}

func (r *selectorRule) evaluate(name types.NamespacedName, all []*corev1.Service) {
	s := all[0]
	mesh, is := r.of(name.Namespace)
	if !is || s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	r.shortNames.Emit(model.Key{Mesh: mesh, Name: name.Name}, name.Namespace)
	if len(s.Spec.Selector) == 0 {
		return
	}
	label := slices.Min(slices.Collect(maps.Keys(s.Spec.Selector)))
	r.selectors.Emit(selectorIndex{name.Namespace, label, s.Spec.Selector[label]}, selectingService{
		name, s.Spec.Selector, portsOf(s), originOf("", "Service", s),
	})
}

// portsOf lists the TCP ports of a Service.
func portsOf(s *corev1.Service) []servicePort {
	var out []servicePort
	for i, p := range s.Spec.Ports {
		protocol, _, _, ok := protocolOf(p)
		if !ok {
			continue
		}
		port := servicePort{index: i, number: uint16(p.Port), protocol: protocol}
		if p.TargetPort.Type == intstr.String {
			port.targetName = p.TargetPort.StrVal
		} else {
			port.target = uint16(cmp.Or(p.TargetPort.IntVal, p.Port))
		}
		out = append(out, port)
	}
	return out
}

// serviceRule emits the services of members.
type serviceRule struct {
	membership
	wayReader
	trustDomain  string
	shortNames   *incremental.Reader[model.Key, string]
	upstreams    *incremental.Reader[types.NamespacedName, *upstreamSetting]
	clientRoutes *incremental.Reader[types.NamespacedName, *clientRoutes]
	restrictions *incremental.Reader[types.NamespacedName, restriction]
	services     store.Output[model.Key, model.Service]
	routers      store.Output[model.Key, model.Router]
	destinations store.Output[model.Key, model.Destination]
	members      *incremental.Emitter[model.ObjectRef, string]
	findings     store.Output[model.ObjectRef, model.Finding]
}

func (r *serviceRule) evaluate(name types.NamespacedName, all []*corev1.Service) {
	s := all[0]
	mesh, is := r.of(name.Namespace)
	if !is || s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	at := originOf("", "Service", s)
	r.members.Emit(at.Object(), mesh)
	for i, p := range s.Spec.Ports {
		if _, field, doubt, _ := protocolOf(p); doubt != "" {
			f := model.NewFinding(at.At(fmt.Sprintf("spec.ports[%d].%s", i, field)), model.CodeInvalidField, doubt)
			f.Severity = model.Warning
			r.findings.Emit(f)
		}
	}
	key := model.Key{Mesh: mesh, Name: hostOf(name)}
	short := name.Name + "." + name.Namespace
	service := model.Service{Key: key, Aliases: []string{short, short + ".svc"}, Router: name.String(), Origin: at}
	if namespaces := r.shortNames.Read(model.Key{Mesh: mesh, Name: name.Name}); len(namespaces) == 1 {
		service.Aliases = append(service.Aliases, name.Name)
	} else {
		service.GroupAliases = &model.GroupAliases{ClientGroup: name.Namespace, Aliases: []string{name.Name}}
	}
	r.emitDestinations(name, s, mesh, at)
	r.routers.Emit(r.router(model.Key{Mesh: mesh, Name: name.String()}, name, s, nil))
	for _, clients := range r.clientRoutes.Read(name) {
		r.routers.Emit(r.router(model.Key{Mesh: mesh, Name: clients.name}, name, s, clients))
		service.Variants = append(service.Variants,
			model.ServiceVariant{ClientGroup: clients.group(name), Router: clients.name})
	}
	r.services.Emit(service)
}

// emitDestinations emits the destinations of the ports of a Service.
func (r *serviceRule) emitDestinations(name types.NamespacedName, s *corev1.Service, mesh string, at model.Origin) {
	tls := r.clientTLS(name.Namespace, r.identities.Read(name))
	var limits *model.ConnectionLimits
	if of, known := r.upstreams.ReadFirst(name); known {
		limits = of.limits
	}
	restrictions := slices.CompactFunc(slices.Clone(r.restrictions.Read(name)), func(a, b restriction) bool {
		return a.compare(b) == 0 // of two Services that lead to this one
	})
	for _, p := range portsOf(s) {
		portAt := at.At(fmt.Sprintf("spec.ports[%d]", p.index))
		for _, d := range r.destinationsOf(name, p) {
			if s.Spec.ClusterIP == corev1.ClusterIPNone {
				d.Discovery.Service = hostOf(name)
			}
			d.Mesh, d.TLS, d.Limits, d.Origin = mesh, tls, limits, portAt
			r.destinations.Emit(d)
			for _, only := range restrictions {
				if only.port == p.number {
					r.destinations.Emit(r.restricted(d, name.Namespace, only.accounts))
				}
			}
		}
		none := model.Destination{
			Protocol: p.protocol, Discovery: model.Discovery{Kind: model.DiscoverInstances}, Origin: portAt,
		}
		if conditional, whole := r.splitsOn(name, p); len(conditional) > 0 || whole != nil {
			none.Key = model.Key{Mesh: mesh, Name: nothing(name, p)}
			r.destinations.Emit(none)
		}
		if slices.ContainsFunc(r.clientRoutes.Read(name), func(c *clientRoutes) bool { return c.isEmpty(p) }) {
			none.Key, none.Discovery.Reason = model.Key{Mesh: mesh, Name: unpopulated(name, p)}, waitingReason
			r.destinations.Emit(none)
		}
	}
}

// hostOf is the name of a Service in the DNS of the cluster.
func hostOf(service types.NamespacedName) string {
	return service.Name + "." + service.Namespace + ".svc." + clusterDomain
}

// destinationsOf lists the destinations of a port: one, or one for each number that a named target port has in pods.
func (r *serviceRule) destinationsOf(name types.NamespacedName, p servicePort) []model.Destination {
	d := model.Destination{Protocol: p.protocol, Discovery: model.Discovery{Kind: model.DiscoverInstances}}
	if p.targetName == "" {
		d.Name, d.Port = fmt.Sprintf("%s:%d", name, p.number), p.target
		d.Discovery.Group = group(name, "", 0)
		return []model.Destination{d}
	}
	var out []model.Destination
	for _, t := range r.targetPorts.Read(name) {
		if t.name != p.targetName {
			continue
		}
		d.Name, d.Port = fmt.Sprintf("%s:%d", name, p.number), t.number
		if len(out) > 0 {
			d.Name += fmt.Sprintf("/%d", t.number)
		}
		d.Discovery.Group = group(name, t.name, t.number)
		out = append(out, d)
	}
	if len(out) == 0 { // there is no pod with such a port yet
		d.Name, d.Port, d.Discovery.Group = fmt.Sprintf("%s:%d", name, p.number), p.number, group(name, p.targetName, 0)
		out = append(out, d)
	}
	return out
}

// clientTLS is how clients connect to pods of accounts: with their own identities, and to these identities only.
func (r *serviceRule) clientTLS(namespace string, accounts []string) *model.ClientTLS {
	trust := meshTrust(r.trustDomain)
	for _, account := range accounts {
		trust.Names = append(trust.Names, identityOf(r.trustDomain, types.NamespacedName{Namespace: namespace, Name: account}).String())
	}
	return &model.ClientTLS{Required: true, Validation: trust, Certificate: &model.Certificate{Secret: trust.TrustSecret}}
}

// meshTrust trusts the identities of the mesh.
func meshTrust(trustDomain string) *model.Validation {
	return &model.Validation{
		TrustSecret: model.Secret{Provider: model.ProviderMesh, Name: "spiffe://" + trustDomain},
	}
}

func identityOf(trustDomain string, account types.NamespacedName) model.Identity {
	return model.Identity{TrustDomain: trustDomain, Namespace: account.Namespace, Account: account.Name}
}
