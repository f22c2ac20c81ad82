package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/pod/inject"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

func namesAnswered(ctx context.Context, c *Cluster) (string, error) {
	s, err := c.State(ctx)
	if err != nil {
		return "", err
	}
	return unanswered(s)
}

// unanswered returns a warning that names the workloads with pods whose agents do not answer names that the DNS of the
// cluster does not know.
func unanswered(s *engine.State) (string, error) {
	total := 0
	silent := map[model.Key]map[string]string{} // the pods by workload and UID
	for _, o := range s.Objects {
		p, is := o.(*corev1.Pod)
		if !is || !runs(p) || inject.Agent(p) == nil {
			continue
		}
		w, member := s.WorkloadOf(string(p.UID))
		if !member || w.Role == model.RoleGateway {
			continue
		}
		total++
		// a pod without the annotation is older than the DNS server of the agent
		if mode := p.Annotations[sidecar.DNSAnnotation]; mode != "" && model.DNSMode(mode) != model.DNSOff {
			continue
		}
		if silent[w.Key] == nil {
			silent[w.Key] = map[string]string{}
		}
		silent[w.Key][string(p.UID)] = p.Name
	}
	var texts []string
	for _, key := range slices.SortedFunc(maps.Keys(silent), model.Key.Compare) {
		w, _ := s.Index.Workload(key)
		if names := unresolvedNames(s, w); len(names) > 0 {
			texts = append(texts, fmt.Sprintf("%s, %s %s: %s", dialect.KindNamesOfObjects(s.Objects).Object(w.Origin.Object()),
				map[bool]string{true: "pod", false: "pods"}[len(silent[key]) == 1], some(silent[key]), some(names)))
		}
	}
	if len(texts) > 0 {
		return "", warn("%s", strings.Join(texts, "; "))
	}
	return terminal.Count(total, "pod", "pods"), nil
}

// unresolvedNames returns the names of the backends of a workload that the DNS of the cluster does not know.
func unresolvedNames(s *engine.State, w model.Workload) map[string]string {
	out := map[string]string{}
	for _, service := range s.Index.Services(w.Mesh) {
		isBackend := s.Index.MayReach(w, service.Name)
		if isBackend && service.Unresolved {
			out[service.Name] = service.Name
		}
	}
	return out
}
