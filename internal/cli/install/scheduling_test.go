package install

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// renderWith renders the chart with values in YAML.
func renderWith(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return render(t, Options{Namespace: "n", Values: values, SkipCRDs: true})
}

// TestControlPlaneIsAvailable checks that the control plane has two replicas, preferably on different nodes and in
// different zones: the API server refuses pods and objects of meshes while no webhook responds.
func TestControlPlaneIsAvailable(t *testing.T) {
	d := typed[appsv1.Deployment](t, find(t, renderWith(t, `{}`), "Deployment", "anymesh"))
	if *d.Spec.Replicas != 2 {
		t.Errorf("the Deployment has %d replicas", *d.Spec.Replicas)
	}
	affinity := d.Spec.Template.Spec.Affinity.PodAntiAffinity
	if len(affinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		len(affinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Fatalf("the anti-affinity is %+v", affinity)
	}
	term := affinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	if term.TopologyKey != corev1.LabelHostname || !selects(term.LabelSelector.MatchLabels, d) {
		t.Errorf("the anti-affinity is %+v", term)
	}
	spread := d.Spec.Template.Spec.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].TopologyKey != corev1.LabelTopologyZone ||
		spread[0].WhenUnsatisfiable != corev1.ScheduleAnyway || !selects(spread[0].LabelSelector.MatchLabels, d) {
		t.Errorf("the constraints are %+v", spread)
	}
}

func selects(selector map[string]string, d appsv1.Deployment) bool {
	for name, value := range selector {
		if d.Spec.Template.Labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

const scheduling = `
    nodeSelector: {pool: system}
    tolerations: [{key: system, operator: Exists, effect: NoSchedule}]
    affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
      {matchExpressions: [{key: arch, operator: In, values: [arm64]}]}]}}}
    priorityClassName: system-cluster-critical
    topologySpreadConstraints:
      - {maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}
      - {maxSkew: 1, topologyKey: room, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}
    podDisruptionBudget: {minAvailable: 50%}
    labels: {team: platform}
    annotations: {example.org/reload: "true"}
    podLabels: {cost-center: "7"}
    podAnnotations: {prometheus.io/scrape: "false", example.org/x: z}`

// TestScheduling checks the values for nodes, disruptions, labels and annotations of each Deployment.
func TestScheduling(t *testing.T) {
	objects := renderWith(t, "imagePullSecrets: [{name: registry}]"+strings.ReplaceAll(scheduling, "\n    ", "\n")+
		"\naggregator:\n    enabled: true"+scheduling+"\ningress:\n    enabled: true"+scheduling)
	for _, name := range []string{"anymesh", "anymesh-aggregator", "anymesh-gateway"} {
		t.Run(name, func(t *testing.T) {
			d := typed[appsv1.Deployment](t, find(t, objects, "Deployment", name))
			pod := d.Spec.Template.Spec
			if pod.NodeSelector["pool"] != "system" || len(pod.Tolerations) != 1 || pod.Tolerations[0].Key != "system" ||
				pod.Affinity.NodeAffinity == nil || pod.PriorityClassName != "system-cluster-critical" {
				t.Errorf("the pods have %+v", pod)
			}
			if !slices.Equal(pod.ImagePullSecrets, []corev1.LocalObjectReference{{Name: "registry"}}) {
				t.Errorf("the pods have the pull secrets %v", pod.ImagePullSecrets)
			}
			spread := pod.TopologySpreadConstraints
			if len(spread) != 2 || spread[0].MaxSkew != 2 || !selects(spread[0].LabelSelector.MatchLabels, d) ||
				spread[1].LabelSelector.MatchLabels["a"] != "b" {
				t.Errorf("the constraints are %+v", spread)
			}
			if d.Labels["team"] != "platform" || d.Annotations["example.org/reload"] != "true" {
				t.Errorf("the Deployment has %v, %v", d.Labels, d.Annotations)
			}
			labels, annotations := d.Spec.Template.Labels, d.Spec.Template.Annotations
			if labels["cost-center"] != "7" || annotations["prometheus.io/scrape"] != "false" ||
				annotations["example.org/x"] != "z" {
				t.Errorf("the pods have %v, %v", labels, annotations)
			}
			if d.Spec.Selector.MatchLabels["cost-center"] != "" || !selects(d.Spec.Selector.MatchLabels, d) {
				t.Errorf("the Deployment selects %v", d.Spec.Selector.MatchLabels)
			}
			budget := typed[policyv1.PodDisruptionBudget](t, find(t, objects, "PodDisruptionBudget", name))
			if budget.Spec.MinAvailable.String() != "50%" || budget.Spec.MaxUnavailable != nil ||
				!selects(budget.Spec.Selector.MatchLabels, d) {
				t.Errorf("the budget is %+v", budget.Spec)
			}
		})
	}
	hooks, err := Hooks(Options{Namespace: "n", Values: map[string]any{
		"imagePullSecrets": []any{map[string]any{"name": "registry"}}, "nodeSelector": map[string]any{"pool": "system"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	job := typed[batchv1.Job](t, find(t, hooks, "Job", "anymesh-release-finalizers")).Spec.Template.Spec
	if len(job.ImagePullSecrets) != 1 || job.NodeSelector["pool"] != "system" {
		t.Errorf("the Job of helm uninstall has %v, %v", job.ImagePullSecrets, job.NodeSelector)
	}
}

// TestSelectorLabelsAreReserved checks that values cannot take pods from their Deployment.
func TestSelectorLabelsAreReserved(t *testing.T) {
	for _, name := range []string{"labels", "podLabels"} {
		values := map[string]any{name: map[string]any{"app.kubernetes.io/name": "mine"}}
		if _, err := Manifests(Options{Namespace: "n", Values: values}); err == nil {
			t.Errorf("%s may replace the label of the selector", name)
		}
	}
}

// Images may have digests, as those of a release.
func TestImagesByDigest(t *testing.T) {
	pinned := "registry.example/anymesh:1@sha256:" + strings.Repeat("0a", 32)
	for _, o := range renderWith(t, "image: "+pinned+"\naggregator: {enabled: true}") {
		if o.GetKind() != "Deployment" {
			continue
		}
		if got := typed[appsv1.Deployment](t, o).Spec.Template.Spec.Containers[0].Image; got != pinned {
			t.Errorf("Deployment %s has the image %s", o.GetName(), got)
		}
	}
}
