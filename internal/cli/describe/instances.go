package describe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// templates returns the UIDs of pods of files that stand for the template of a workload with 0 replicas.
func templates(s *engine.State) map[string]bool {
	out := map[string]bool{}
	for _, o := range s.Objects {
		if pod, is := o.(*corev1.Pod); is && manifest.NoReplicas(pod) {
			out[string(pod.UID)] = true
		}
	}
	return out
}

// instances returns the instances of a workload, without templates.
func instances(s *engine.State, workload model.Key, templates map[string]bool) []model.Endpoint {
	all := s.Index.Endpoints(workload)
	if len(templates) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(e model.Endpoint) bool { return templates[e.Instance.UID] })
}
