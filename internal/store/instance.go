package store

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// instanceRule adds endpoints to their workloads and groups, and records the workloads and sidecarClasses of pods.
type instanceRule struct {
	workloads         *incremental.Reader[model.Key, model.Workload]
	pods              *incremental.Reader[types.NamespacedName, *Pod]
	instances, groups *incremental.Emitter[model.Key, *model.Endpoint]
	podModes          *incremental.Emitter[model.Key, model.DNSMode]
	roles             *incremental.Emitter[string, Role]
	classes           *incremental.Emitter[model.Key, string]
	headless          *incremental.Reader[string, headlessService]
	servicePods       *incremental.Emitter[types.NamespacedName, servicePod]
	findings          Output[model.ObjectRef, model.Finding]
}

func (m *Mesh) addInstanceRule(g *incremental.Graph) {
	r := incremental.NewRule(g, "instance")
	incremental.Each(r, m.Endpoints, instanceRule{
		workloads: incremental.Reads(r, m.Workloads), pods: incremental.Reads(r, m.pods),
		instances: incremental.Emits(r, m.instances), groups: incremental.Emits(r, m.groups),
		podModes: incremental.Emits(r, m.podModes), roles: incremental.Emits(r, m.Pods),
		headless: incremental.Reads(r, m.headless), servicePods: incremental.Emits(r, m.servicePods),
		classes: incremental.Emits(r, m.Classes), findings: m.EmitsFindings(r),
	}, instanceRule.evaluate)
}

// evaluate adds the endpoint of a pod. If workloads of two dialects select a pod, it belongs to the older one, and both
// get a finding.
func (r instanceRule) evaluate(_ model.Instance, all []model.Endpoint) {
	if len(all) > 1 {
		all = r.byAge(all)
	}
	e := &all[0]
	for _, other := range all[1:] {
		r.reportShared(e.Workload, other.Workload)
	}
	r.instances.Emit(e.Workload, e)
	for _, group := range e.Groups {
		r.groups.Emit(model.Key{Mesh: e.Workload.Mesh, Name: group}, e)
	}
	if e.Instance.UID != "" {
		r.addPod(e)
	}
}

// byAge sorts endpoints by the age of their workloads. Those without a workload are last.
func (r instanceRule) byAge(all []model.Endpoint) []model.Endpoint {
	origins := map[model.Key]model.Origin{}
	for _, e := range all {
		if w, known := r.workloads.ReadFirst(e.Workload); known {
			origins[e.Workload] = w.Origin
		}
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b model.Endpoint) int {
		x, known1 := origins[a.Workload]
		y, known2 := origins[b.Workload]
		switch {
		case known1 && known2:
			return cmp.Or(x.CompareAge(y), a.Compare(b))
		case known1:
			return -1
		case known2:
			return 1
		}
		return a.Compare(b)
	})
}

// reportShared reports that two workloads select the same pods. The text has no pod name: one finding covers all pods.
func (r instanceRule) reportShared(keeps, loses model.Key) {
	kept, ok1 := r.workloads.ReadFirst(keeps)
	lost, ok2 := r.workloads.ReadFirst(loses)
	if !ok1 || !ok2 || keeps == loses {
		return
	}
	first := model.NewFinding(kept.Origin, model.CodeSelectorConflict,
		fmt.Sprintf("pods of it are selected by %s too; they stay with this object", lost.Origin.Object().Beside(kept.Origin.Object())))
	first.Severity = model.Warning
	r.findings.Emit(first)
	r.findings.Emit(model.NewFinding(lost.Origin, model.CodeSelectorConflict,
		fmt.Sprintf("pods that it selects belong to %s already", kept.Origin.Object().Beside(lost.Origin.Object()))))
}

// addPod records the workload, the sidecarClass and the DNS mode of the pod of an instance.
func (r instanceRule) addPod(e *model.Endpoint) {
	class := e.SidecarClass
	pod, there := r.pods.ReadFirst(types.NamespacedName{Namespace: e.Instance.Namespace, Name: e.Instance.Name})
	if there && pod.UID == e.Instance.UID {
		class = cmp.Or(class, pod.Settings().Class)
		if mode, known := dnsMode(pod); known {
			r.podModes.Emit(e.Workload, mode)
		}
		r.addServicePod(e, pod)
	}
	r.roles.Emit(e.Instance.UID, Role{e.Workload, class})
	r.classes.Emit(e.Workload, class)
}

// addServicePod adds the addresses of a pod to the headless Services that select it.
func (r instanceRule) addServicePod(e *model.Endpoint, pod *Pod) {
	for _, service := range r.headless.Read(e.Instance.Namespace) {
		if !service.selects(pod.Labels) {
			continue
		}
		for _, address := range e.Addresses {
			r.servicePods.Emit(types.NamespacedName{Namespace: e.Instance.Namespace, Name: service.name},
				servicePod{e.Workload.Mesh, model.ServicePod{Address: address, Workload: e.Workload.Name}})
		}
	}
}
