package osm

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Kinds of objects that allow clients outside of the mesh, with the first word of the names of their policies.
const (
	kindIngressBackend = "IngressBackend"
	kindAccessControl  = "AccessControl"
)

var policyNames = map[string]string{kindIngressBackend: "ingress", kindAccessControl: "access"}

// Kinds of sources of ingress.
const (
	sourceService   = "Service"
	sourceIPRange   = "IPRange"
	sourcePrincipal = "AuthenticatedPrincipal"
)

// ingressPort is a port of the pods of a Service. Objects of different kinds add up.
type ingressPort struct {
	kind    string
	service types.NamespacedName
	port    uint16
}

// ingressBackend is a backend of an IngressBackend or an AccessControl, without what is invalid.
type ingressBackend struct {
	mesh   string
	origin model.Origin // of the backend
	tls    bool
	// anyone is true if clients with TLS need no certificate.
	anyone      bool
	serverNames []string
	// services are the Services whose addresses may call, each with the path of its source.
	services []ingressService
	ranges   []netip.Prefix
	names    []string
}

type ingressService struct {
	name types.NamespacedName
	path string
}

// addIngressBackends adds the rules for IngressBackends and AccessControls.
func (r *rules) addIngressBackends(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, kindIngressBackend)
	incremental.Each(rule, store.Of[*policy.IngressBackend](objects), r.readsIngress(rule, objects),
		func(r *ingressRule, _ types.NamespacedName, all []*policy.IngressBackend) {
			r.evaluate(kindIngressBackend, all[0], all[0].Spec)
		})
	rule = incremental.NewRule(g, kindAccessControl)
	incremental.Each(rule, store.Of[*policy.AccessControl](objects), &accessControlRule{
		*r.readsIngress(rule, objects), incremental.Reads(rule, r.settings),
	}, (*accessControlRule).evaluate)
	r.addIngressSources(g, objects)
	rule = incremental.NewRule(g, "ingress of a port")
	incremental.Each(rule, r.ingressBackends, &ingressPortRule{
		identities: incremental.Reads(rule, r.identities), addresses: incremental.Reads(rule, r.sourceAddresses),
		policies: r.out.EmitsAuthorizationPolicies(rule), findings: r.out.EmitsFindings(rule),
	}, (*ingressPortRule).evaluate)
}

func (r *rules) readsIngress(rule *incremental.Rule, objects *store.Objects) *ingressRule {
	return &ingressRule{
		policyRule: r.readsPolicies(rule), trustDomain: r.dialect.trustDomain(),
		domains:     incremental.Reads(rule, r.out.TrustDomains),
		services:    incremental.Reads(rule, store.Of[*corev1.Service](objects)),
		targetPorts: incremental.Reads(rule, r.targetPorts),
		backends:    incremental.Emits(rule, r.ingressBackends), sources: incremental.Emits(rule, r.ingressSources),
	}
}

// ingressRule validates IngressBackends and AccessControls.
type ingressRule struct {
	policyRule
	trustDomain string
	domains     *incremental.Reader[struct{}, []string] // other ones of the mesh
	services    *incremental.Reader[types.NamespacedName, *corev1.Service]
	targetPorts *incremental.Reader[types.NamespacedName, namedTarget]
	backends    *incremental.Emitter[ingressPort, *ingressBackend]
	sources     *incremental.Emitter[types.NamespacedName, struct{}]
}

func (r *ingressRule) evaluate(kind string, o metav1.Object, spec policy.IngressBackendSpec) {
	at, mesh, is := r.member(policy.GroupVersion.Group, kind, o)
	if !is {
		return
	}
	if len(spec.Matches) > 0 {
		r.report(at, "spec.matches", model.CodeFieldNotImplemented, "has no effect")
	}
	common := ingressBackend{mesh: mesh}
	r.readSources(at, o.GetNamespace(), spec.Sources, &common)
	for i, b := range spec.Backends {
		path := fmt.Sprintf("spec.backends[%d]", i)
		service := types.NamespacedName{Namespace: o.GetNamespace(), Name: b.Name}
		port, served := r.port(at, path, service, b.Port)
		out := common
		out.origin = at.At(path)
		if served && r.readProtocol(at, path, b, &out) {
			r.backends.Emit(ingressPort{kind, service, port}, &out)
		}
	}
}

// readSources adds sources. An entry that is invalid allows nobody, and the others apply.
func (r *ingressRule) readSources(at model.Origin, namespace string, sources []policy.IngressSource,
	out *ingressBackend) {
	for i, s := range sources {
		path := fmt.Sprintf("spec.sources[%d]", i)
		switch s.Kind {
		case sourceService:
			service := types.NamespacedName{Namespace: cmp.Or(s.Namespace, namespace), Name: s.Name}
			if _, exists := r.clusterService(at, path+".name", service, r.services); exists {
				out.services = append(out.services, ingressService{service, path + ".name"})
				r.sources.Emit(service, struct{}{})
			}
		case sourceIPRange:
			if p, ok := r.addressRange(at, path+".name", s.Name); ok {
				out.ranges = append(out.ranges, p)
			}
		case sourcePrincipal:
			out.names = append(out.names, r.principal(s.Name)...)
		default:
			r.report(at, path+".kind", model.CodeInvalidField, "%q is not %s, %s or %s; it has no effect", s.Kind, sourceService,
				sourceIPRange, sourcePrincipal)
		}
	}
	if len(sources) == 0 {
		r.report(at, "spec.sources", model.CodeInvalidField, "is empty, so that nobody is allowed")
	}
}

// principal returns the names in certificates that a principal stands for. SERVICEACCOUNT.NAMESPACE.TRUSTDOMAIN is, in
// Open Service Mesh, the identity of a ServiceAccount.
func (r *ingressRule) principal(name string) []string {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 3 || strings.Contains(name, "://") {
		return []string{name}
	}
	has := func(domains []string) bool { return slices.Contains(domains, parts[2]) }
	if parts[2] != r.trustDomain && !slices.ContainsFunc(r.domains.Read(struct{}{}), has) {
		return []string{name}
	}
	account := types.NamespacedName{Namespace: parts[1], Name: parts[0]}
	return []string{name, identityOf(r.trustDomain, account).String()}
}

// port returns the port of pods that a backend names. It reports false, after a finding, if no port of the Service that
// takes requests leads to it.
func (r *ingressRule) port(at model.Origin, path string, name types.NamespacedName, p policy.Port) (uint16, bool) {
	service, exists := r.clusterService(at, path+".name", name, r.services)
	if !exists {
		return 0, false
	}
	var targets []string
	for _, sp := range portsOf(service) {
		for _, target := range r.targetsOf(name, sp) {
			if int32(target) == p.Number {
				if sp.protocol.Requests() {
					return target, true
				}
				r.report(at, path+".port.number", model.CodeInvalidField,
					"port %d serves %s; only HTTP is served from outside of the mesh", target, sp.protocol)
				return 0, false
			}
			if int32(sp.number) == p.Number {
				targets = append(targets, fmt.Sprint(target))
			}
		}
	}
	if len(targets) > 0 {
		r.report(at, path+".port.number", model.CodeInvalidField,
			"%d is a port of Service %s, and the port of its pods is required: %s; it has no effect", p.Number, name,
			strings.Join(targets, " or "))
		return 0, false
	}
	r.report(at, path+".port.number", model.CodeReferenceNotFound, "no port of Service %s leads to port %d of its pods", name,
		p.Number)
	return 0, false
}

// targetsOf lists the ports of pods behind a port of a Service.
func (r *ingressRule) targetsOf(name types.NamespacedName, p servicePort) []uint16 {
	if p.targetName == "" {
		return []uint16{p.target}
	}
	var out []uint16
	for _, t := range r.targetPorts.Read(name) {
		if t.name == p.targetName {
			out = append(out, t.number)
		}
	}
	return out
}

// readProtocol adds how the clients connect. It reports false, after a finding, if they cannot.
func (r *ingressRule) readProtocol(at model.Origin, path string, b policy.IngressBackendService,
	out *ingressBackend) bool {
	switch strings.ToLower(b.Port.Protocol) {
	case "http", "grpc":
		if b.TLS.SkipClientCertValidation || len(b.TLS.SNIHosts) > 0 {
			r.warn(at, path+".tls", model.CodeInvalidField, "has no effect for protocol %s", b.Port.Protocol)
		}
		if len(out.names) > 0 {
			r.warn(at, path+".port.protocol", model.CodeInvalidField,
				"clients without TLS have no certificate: sources of kind %s have no effect", sourcePrincipal)
		}
		return true
	case "https":
		out.tls, out.anyone = true, b.TLS.SkipClientCertValidation
		out.serverNames = sorted(b.TLS.SNIHosts)
		if !out.anyone && len(out.names) == 0 {
			r.report(at, path+".tls.skipClientCertValidation", model.CodeInvalidField,
				"is false, and no source has kind %s: nobody is allowed", sourcePrincipal)
			return false
		}
		return true
	}
	r.report(at, path+".port.protocol", model.CodeInvalidField, "%q is not http, https or grpc; it has no effect",
		b.Port.Protocol)
	return false
}

// ingressPortRule emits the policies of a port. Of several objects of a kind for it, the oldest has effect.
type ingressPortRule struct {
	identities *incremental.Reader[types.NamespacedName, string]
	addresses  *incremental.Reader[types.NamespacedName, netip.Addr]
	policies   store.Output[model.Key, model.AuthorizationPolicy]
	findings   store.Output[model.ObjectRef, model.Finding]
}

func (r *ingressPortRule) evaluate(of ingressPort, all []*ingressBackend) {
	b := all[0]
	for _, other := range all[1:] {
		r.findings.Emit(model.NewFinding(other.origin, model.CodeNameConflict, fmt.Sprintf(
			"has no effect: %s is for port %d of the same Service and is older", b.origin.Object(), of.port)))
	}
	ranges, anywhere := r.ranges(b)
	if len(ranges) == 0 && !anywhere {
		return
	}
	for i, account := range r.identities.Read(of.service) {
		clients := &model.IngressClients{
			TLS: b.tls, Addresses: slices.Clone(ranges), ServerNames: slices.Clone(b.serverNames),
		}
		if b.tls && !b.anyone {
			clients.Names = sorted(b.names)
		}
		r.policies.Emit(model.AuthorizationPolicy{
			Key: model.Key{Mesh: b.mesh, Name: fmt.Sprintf("%s %s %s:%d/%d", policyNames[of.kind], b.origin.Object().Name,
				of.service, of.port, i)},
			Workload: types.NamespacedName{Namespace: of.service.Namespace, Name: account}.String(),
			Ingress:  clients, Ports: []uint16{of.port}, Origin: b.origin,
		})
	}
}

// ranges returns the addresses of the clients. anywhere is true if these do not matter: the certificate identifies the
// client, or none is required of it and no source has addresses.
func (r *ingressPortRule) ranges(b *ingressBackend) (out []netip.Prefix, anywhere bool) {
	for _, s := range b.services {
		addresses := r.addresses.Read(s.name)
		if len(addresses) == 0 {
			r.findings.Emit(model.NewFinding(model.NewOrigin(b.origin.Object()).At(s.path), model.CodeReferenceNotFound,
				fmt.Sprintf("Service %s has no endpoints: until it has one, the source allows nobody", s.name)))
		}
		for _, a := range addresses {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	out = append(out, b.ranges...)
	return out, b.tls && len(b.names) > 0 && len(b.services)+len(b.ranges) == 0
}
