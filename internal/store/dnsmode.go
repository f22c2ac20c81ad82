package store

import (
	"cmp"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// dnsMode returns the DNS mode of a pod: the annotation that injection writes. A pod with a sidecar and without the
// annotation is older than the DNS server of the agent. It reports false for a pod without a sidecar, for example in a
// file.
func dnsMode(pod *Pod) (model.DNSMode, bool) {
	mode := model.DNSMode(pod.Settings().DNS)
	return cmp.Or(mode, model.DNSOff), mode != "" || pod.HasProxy()
}

// addModeRule adds the rule that selects the mode of a workload: the one of its pods that answers the most names, so
// that new pods of a rollout have their names.
func (m *Mesh) addModeRule(g *incremental.Graph) {
	r := incremental.NewRule(g, "DNS mode")
	incremental.Each(r, m.podModes, incremental.Emits(r, m.modes),
		func(modes *incremental.Emitter[model.Key, model.DNSMode], workload model.Key, all []model.DNSMode) {
			modes.Emit(workload, all[0])
		})
}

// compareModes orders modes by the number of names that they answer, the largest first.
func compareModes(a, b model.DNSMode) int {
	order := map[model.DNSMode]int{model.DNSAll: 1, model.DNSUnresolved: 2, model.DNSOff: 3}
	return cmp.Or(cmp.Compare(order[a], order[b]), cmp.Compare(a, b))
}

// modeOf returns the mode of a workload, given the mode of its pods.
func (s Settings) modeOf(ofPods model.DNSMode, known bool) model.DNSMode {
	if known {
		return ofPods
	}
	return cmp.Or(s.DNS, model.DNSUnresolved)
}
