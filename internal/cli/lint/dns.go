package lint

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// dnsFindings returns findings about workloads whose pods have an unknown DNS mode: injection refuses such pods.
func dnsFindings(state *engine.State) []model.Finding {
	var out []model.Finding
	for _, o := range state.Objects {
		pod, is := o.(*corev1.Pod)
		if !is {
			continue
		}
		mode := model.DNSMode(pod.Annotations[sidecar.DNSAnnotation])
		if w, member := state.WorkloadOf(string(pod.UID)); member && mode != "" && !mode.Valid() {
			out = append(out, model.NewFinding(w.Origin, model.CodeRefused, fmt.Sprintf(
				"pods of this workload cannot be created: annotation %s is %q; set %s, %s or %s",
				sidecar.DNSAnnotation, mode, model.DNSUnresolved, model.DNSAll, model.DNSOff)))
		}
	}
	return model.SortFindings(out)
}
