package appmesh

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// addClusterServices adds the rules about Services.
func (r *rules) addClusterServices(g *incremental.Graph, objects *store.Objects) {
	r.clusterServices = store.Of[*corev1.Service](objects)
	r.clusterServiceNames = incremental.NewRelation[allKey](g, "names of Services", strings.Compare,
		func(a, b string) bool { return a == b })
	r.servicesKnown = incremental.NewRelation[allKey](g, "Services are known", func(a, b bool) int { return 0 },
		func(a, b bool) bool { return a == b })
	incremental.AddRule(g, "Service", r.clusterServices,
		func(task *incremental.Evaluation, name types.NamespacedName, _ []*corev1.Service) {
			r.clusterServiceNames.Emit(task, allKey{}, name.String())
		})
	incremental.AddRule(g, "Services are known", r.clusterServiceNames,
		func(task *incremental.Evaluation, _ allKey, _ []string) { r.servicesKnown.Emit(task, allKey{}, true) })
}

// checkHostname warns about a hostname that clients probably cannot resolve. A cluster always has Services; manifests
// without any say nothing about the hostnames.
func (t *translator) checkHostname(m *meshMember[*api.VirtualNode], at model.Origin, host string) {
	if known, _ := t.servicesKnown.ReadFirst(t.Evaluation, allKey{}); !known {
		return
	}
	name, inCluster := store.ServiceName(strings.TrimPrefix(host, podLabel(host)), m.object.Namespace)
	_, exists := t.clusterServices.ReadFirst(t.Evaluation, name)
	labels := strings.Count(host, ".") + 1
	external := m.object.Spec.PodSelector == nil
	switch {
	case inCluster && exists && (labels == 2 || labels == 3):
		t.warn(at, model.CodeReferenceNotFound, "%s is looked up as it is, without search domains; "+
			"write %s.%s.svc.cluster.local for Service %s", host, name.Name, name.Namespace, name)
	case inCluster && exists, external:
	case labels == 1:
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
