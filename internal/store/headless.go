package store

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// headlessService is a headless Service with a selector.
type headlessService struct {
	name     string
	selector Labels
}

func (a headlessService) compare(b headlessService) int {
	return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(string(a.selector), string(b.selector)))
}

// selects reports whether a pod with labels belongs to the Service.
func (a headlessService) selects(of Labels) bool {
	for key, want := range a.selector.All() {
		if value, has := of.Lookup(key); !has || value != want {
			return false
		}
	}
	return true
}

// servicePod is a pod of a headless Service, with the mesh of its workload. It may be not ready: its own name resolves,
// if the Service publishes addresses that are not ready.
type servicePod struct {
	mesh string
	model.ServicePod
}

func (a servicePod) compare(b servicePod) int {
	return cmp.Or(a.Address.Compare(b.Address), strings.Compare(a.mesh, b.mesh), strings.Compare(a.Workload, b.Workload))
}

// addHeadlessRule adds the headless Services of namespaces.
func (m *Mesh) addHeadlessRule(g *incremental.Graph) {
	r := incremental.NewRule(g, "headless Service")
	incremental.Each(r, m.clusterServices, incremental.Emits(r, m.headless),
		func(out *incremental.Emitter[string, headlessService], id types.NamespacedName, all []*corev1.Service) {
			if selectsPods(all[0]) {
				out.Emit(id.Namespace, headlessService{id.Name, NewLabels(all[0].Spec.Selector)})
			}
		})
}

// podsOf returns the pods of the headless Service with the name of a mesh service that are instances of its mesh. It
// reports false if there is no such Service, or if it has no selector.
func (c clusterAddresses) podsOf(s model.Service, pods *incremental.Reader[types.NamespacedName, servicePod]) (
	out []model.ServicePod, headless bool) {
	name, service, known := c.service(s)
	if !known || !selectsPods(service) {
		return nil, false
	}
	for _, pod := range pods.Read(name) {
		if pod.mesh == s.Mesh {
			out = append(out, pod.ServicePod)
		}
	}
	return out, true
}

// selectsPods reports whether a Service is headless and has a selector.
func selectsPods(s *corev1.Service) bool {
	return s.Spec.ClusterIP == corev1.ClusterIPNone && len(s.Spec.Selector) > 0
}
