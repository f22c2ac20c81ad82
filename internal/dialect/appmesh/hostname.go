package appmesh

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// addClusterServices adds the rules about Services.
func (r *rules) addClusterServices(g *incremental.Graph) {
	rule := incremental.NewRule(g, "Service")
	incremental.Each(rule, r.clusterServices, incremental.Emits(rule, r.clusterServiceNames),
		func(names *incremental.Emitter[allKey, string], name types.NamespacedName, _ []*corev1.Service) {
			names.Emit(allKey{}, name.String())
		})
	rule = incremental.NewRule(g, "Services are known")
	incremental.Each(rule, r.clusterServiceNames, incremental.Emits(rule, r.servicesKnown),
		func(known *incremental.Emitter[allKey, bool], _ allKey, _ []string) { known.Emit(allKey{}, true) })
}

// checkHostname warns about a hostname that clients probably cannot resolve. A cluster always has Services; manifests
// without any say nothing about the hostnames.
func (t *nodeRule) checkHostname(m *meshMember[*api.VirtualNode], at model.Origin, host string) {
	if known, _ := t.servicesKnown.ReadFirst(allKey{}); !known {
		return
	}
	name, inCluster := store.ServiceName(strings.TrimPrefix(host, podLabel(host)), m.object.Namespace)
	_, exists := t.clusterServices.ReadFirst(name)
	external := m.object.Spec.PodSelector == nil
	switch {
	case inCluster && exists, external:
	case !strings.Contains(host, "."):
		t.warn(at, model.CodeReferenceNotFound,
			"Service %s does not exist; a name without dots is looked up in the search domains of the client's pod", name)
	case inCluster:
		t.warn(at, model.CodeReferenceNotFound, "Service %s does not exist; clients cannot resolve the hostname", name)
	default:
		t.warn(at, model.CodeReferenceNotFound, "no Service has this name; "+
			"if the host is outside the cluster, remove spec.podSelector, else write the name of a Service")
	}
}

// podLabel returns the first label of a name such as POD.SERVICE.NAMESPACE.svc.DOMAIN, with its dot, or "".
func podLabel(host string) string {
	if labels := strings.Split(host, "."); len(labels) > 3 && labels[3] == "svc" {
		return labels[0] + "."
	}
	return ""
}
