package inject

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Annotations of osm-edge set the resources of the sidecar: those of the pod, else of its namespace, else MeshConfig.
func TestResourcesOfMembers(t *testing.T) {
	const start = "openservicemesh.io/sidecar-resource-"
	admit := func(t *testing.T, namespace map[string]string, pod string) (string, *corev1.ResourceRequirements, []string) {
		t.Helper()
		namespace["openservicemesh.io/sidecar-injection"] = "enabled"
		w := newMemberWebhook(map[string]string{"openservicemesh.io/monitored-by": "osm"}, namespace)
		cluster := w.Cluster.(memberCluster)
		cluster.objects = append(cluster.objects, meshConfig(t, "{sidecar: {resources: {limits: {cpu: 1, memory: 1Gi}}}}"))
		w.Cluster = cluster
		raw := asJSON(t, fmt.Sprintf(
			"{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {%s}}, spec: {containers: [{name: app, image: 'app:1'}]}}", pod))
		response := w.Handle(t.Context(), request(raw))
		if got := answer(t, raw, response); got != "sidecar" {
			return got, nil, response.Warnings
		}
		var changed corev1.Pod
		if err := json.Unmarshal(admitted(t, raw, response), &changed); err != nil {
			t.Fatal(err)
		}
		last := changed.Spec.InitContainers[len(changed.Spec.InitContainers)-1]
		return "sidecar", &last.Resources, response.Warnings
	}
	_, got, warnings := admit(t, map[string]string{start + "limits-memory": "256Mi", start + "requests-cpu": "20m", start + "requests-storage": "1Gi"},
		start+"requests-cpu: 30m, "+start+"limits-ephemeral-storage: 10Mi")
	if got.Limits.Cpu().String() != "1" || got.Limits.Memory().String() != "256Mi" || got.Requests.Cpu().String() != "30m" ||
		got.Limits.StorageEphemeral().String() != "10Mi" {
		t.Errorf("resources %+v", got)
	}
	if !strings.Contains(strings.Join(warnings, "\n"), start+"requests-storage has no effect") {
		t.Errorf("warnings %q", warnings)
	}
	for _, c := range []struct {
		namespace map[string]string
		pod, want string
	}{
		{map[string]string{}, start + "limits-cpu: many", "annotation " + start + `limits-cpu: "many" is not a quantity`},
		{map[string]string{start + "limits-cpu": "many"}, "", "its namespace: annotation " + start + `limits-cpu: "many" is not a quantity`},
	} {
		if got, _, _ := admit(t, c.namespace, c.pod); !strings.Contains(got, c.want) {
			t.Errorf("got %q, want a denial with %q", got, c.want)
		}
	}
}
