package appmesh

import (
	"fmt"
	"strings"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// namedIdentity is an identity of the mesh that a VirtualNode or VirtualGateway names as a certificate of its pods.
type namedIdentity struct{ path, id string }

// otherIdentity is an identity that an object names, and another that pods of it have.
type otherIdentity struct {
	object  model.ObjectRef
	named   namedIdentity
	present string
}

// identities collects the identities of a namespace that an object names as certificates.
type identities struct {
	prefix string
	all    []namedIdentity
}

func (s Settings) identities(namespace string) *identities {
	return &identities{prefix: s.trustDomainID() + "/ns/" + namespace + "/sa/"}
}

// identitiesOfNode lists the identities that a VirtualNode names.
func (s Settings) identitiesOfNode(o *api.VirtualNode) []namedIdentity {
	i := s.identities(o.Namespace)
	for n, l := range o.Spec.Listeners {
		if l.TLS != nil {
			i.addListener(n, l.TLS.Mode, l.TLS.Certificate)
		}
	}
	i.addDefaults(o.Spec.BackendDefaults)
	for n, b := range o.Spec.Backends {
		i.addPolicy(backendPath(n), b.VirtualService.ClientPolicy)
	}
	return i.all
}

// identitiesOfGateway lists the identities that a VirtualGateway names.
func (s Settings) identitiesOfGateway(o *api.VirtualGateway) []namedIdentity {
	i := s.identities(o.Namespace)
	for n, l := range o.Spec.Listeners {
		if l.TLS != nil {
			i.addListener(n, l.TLS.Mode, l.TLS.Certificate)
		}
	}
	i.addDefaults(o.Spec.BackendDefaults)
	return i.all
}

func (i *identities) addListener(n int, mode api.ListenerTLSMode, c api.ListenerTLSCertificate) {
	if mode != api.TLSDisabled {
		i.add(fmt.Sprintf("spec.listeners[%d].tls", n), c.SDS)
	}
}

func (i *identities) addDefaults(d *api.BackendDefaults) {
	if d != nil {
		i.addPolicy("spec.backendDefaults", d.ClientPolicy)
	}
}

func (i *identities) addPolicy(path string, p *api.ClientPolicy) {
	if hasTLS(p) && p.TLS.Certificate != nil {
		i.add(path+".clientPolicy.tls", p.TLS.Certificate.SDS)
	}
}

func (i *identities) add(path string, secret *api.TLSSDSSecret) {
	if secret != nil && strings.HasPrefix(secret.SecretName, i.prefix) {
		i.all = append(i.all, namedIdentity{path + ".certificate.sds.secretName", secret.SecretName})
	}
}

// addPodIdentities adds the rule that reports pods without the identity that their object names.
func (r *rules) addPodIdentities(g *incremental.Graph) {
	rule := incremental.NewRule(g, "pod identities")
	incremental.Each(rule, r.otherIdentities, new(r.translator(rule)), (*translator).reportOtherIdentity)
}

func (t *translator) reportOtherIdentity(at otherIdentity, pods []string) {
	t.warn(model.NewOrigin(at.object).At(at.named.path), model.CodeNoCertificate,
		"pod %s has the identity %s and presents it; set serviceAccountName of the pod, or name its identity",
		abbreviate(pods), at.present)
}

// checkIdentity reports a pod that presents another identity than its object names.
func (t *podRule) checkIdentity(n selectedWorkload, pod *store.Pod) {
	for _, named := range n.identities {
		present := store.EndpointOf(pod, n.key, t.settings.trustDomain()).Identity.String()
		if present != named.id {
			t.otherIdentities.Emit(otherIdentity{n.origin.Object(), named, present}, pod.Name)
		}
	}
}
