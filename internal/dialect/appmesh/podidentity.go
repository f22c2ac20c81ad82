package appmesh

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// namedIdentity is an identity of the mesh that a VirtualNode names as a certificate of its pods.
type namedIdentity struct{ path, id string }

// otherIdentity is an identity that a VirtualNode names, and another that pods of it have.
type otherIdentity struct {
	object  model.ObjectRef
	named   namedIdentity
	present string
}

// namedIdentities lists the identities of the namespace of a VirtualNode that it names as certificates.
func (s Settings) namedIdentities(o *api.VirtualNode) []namedIdentity {
	var out []namedIdentity
	prefix := s.trustDomainID() + "/ns/" + o.Namespace + "/sa/"
	add := func(path string, secret *api.TLSSDSSecret) {
		if secret != nil && strings.HasPrefix(secret.SecretName, prefix) {
			out = append(out, namedIdentity{path + ".certificate.sds.secretName", secret.SecretName})
		}
	}
	addPolicy := func(path string, p *api.ClientPolicy) {
		if hasTLS(p) && p.TLS.Certificate != nil {
			add(path+".clientPolicy.tls", p.TLS.Certificate.SDS)
		}
	}
	for i, l := range o.Spec.Listeners {
		if l.TLS != nil && l.TLS.Mode != api.TLSDisabled {
			add(fmt.Sprintf("spec.listeners[%d].tls", i), l.TLS.Certificate.SDS)
		}
	}
	if d := o.Spec.BackendDefaults; d != nil {
		addPolicy("spec.backendDefaults", d.ClientPolicy)
	}
	for i, b := range o.Spec.Backends {
		addPolicy(backendPath(i), b.VirtualService.ClientPolicy)
	}
	return out
}

// addPodIdentities adds the rule that reports pods without the identity that their VirtualNode names.
func (r *rules) addPodIdentities(g *incremental.Graph) {
	rule := incremental.NewRule(g, "pod identities")
	incremental.Each(rule, r.otherIdentities, new(r.translator(rule)), (*translator).reportOtherIdentity)
}

func (t *translator) reportOtherIdentity(at otherIdentity, pods []string) {
	t.warn(model.Origin{Object: at.object, Path: at.named.path}, model.CodeNoCertificate,
		"pod %s has the identity %s and presents it; set serviceAccountName of the pod, or name its identity",
		abbreviate(pods), at.present)
}

// checkIdentity reports a pod that presents another identity than its VirtualNode names.
func (t *podRule) checkIdentity(n selectedNode, pod *corev1.Pod) {
	for _, named := range n.identities {
		present := store.EndpointOf(pod, n.key, t.settings.trustDomain()).Identity.String()
		if present != named.id {
			t.otherIdentities.Emit(otherIdentity{n.origin.Object, named, present}, pod.Name)
		}
	}
}
