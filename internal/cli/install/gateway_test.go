package install

import (
	"encoding/json"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// typed converts an object strictly: fields that the API does not have are errors.
func typed[T any](t *testing.T, o *unstructured.Unstructured) T {
	t.Helper()
	var out T
	text, err := o.MarshalJSON()
	if err == nil {
		err = yaml.UnmarshalStrict(text, &out)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	return out
}

func gatewayWith(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	values := map[string]any{}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	values["enabled"] = true
	return render(t, Options{Namespace: "n", Values: map[string]any{"ingress": values}})
}

// TestGatewayDefaults checks that the gateway has a fixed number of replicas, and that its pods spread over nodes.
func TestGatewayDefaults(t *testing.T) {
	objects := gatewayWith(t, `{"replicas": 3}`)
	d := typed[appsv1.Deployment](t, find(t, objects, "Deployment", "anymesh-gateway"))
	spread := d.Spec.Template.Spec.TopologySpreadConstraints
	if *d.Spec.Replicas != 3 || len(spread) != 1 ||
		spread[0].LabelSelector.MatchLabels["anymesh.dev/gateway"] != "anymesh-gateway" {
		t.Errorf("the Deployment has %d replicas and the constraints %+v", *d.Spec.Replicas, spread)
	}
	if d.Spec.Template.Spec.Affinity != nil || len(d.Spec.Template.Spec.Tolerations) > 0 {
		t.Errorf("the pods have settings of their own: %+v", d.Spec.Template.Spec)
	}
	budget := typed[policyv1.PodDisruptionBudget](t, find(t, objects, "PodDisruptionBudget", "anymesh-gateway"))
	if budget.Spec.MaxUnavailable.IntValue() != 1 || budget.Spec.MinAvailable != nil {
		t.Errorf("the budget is %+v", budget.Spec)
	}
	isScaler := func(o *unstructured.Unstructured) bool { return o.GetKind() == "HorizontalPodAutoscaler" }
	if slices.ContainsFunc(objects, isScaler) {
		t.Error("there is an autoscaler")
	}
}

// TestGatewayScheduling checks the values for autoscaling, nodes, disruptions and resources.
func TestGatewayScheduling(t *testing.T) {
	objects := gatewayWith(t, `{
		"autoscaling": {"enabled": true, "minReplicas": 3, "maxReplicas": 9, "targetCPUUtilizationPercentage": 55},
		"podDisruptionBudget": {"minAvailable": "50%"},
		"nodeSelector": {"pool": "edge"},
		"tolerations": [{"key": "edge", "operator": "Exists", "effect": "NoSchedule"}],
		"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
			{"matchExpressions": [{"key": "arch", "operator": "In", "values": ["arm64"]}]}]}}},
		"topologySpreadConstraints": [
			{"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"},
			{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"a": "b"}}}],
		"resources": {"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}}}`)
	d := typed[appsv1.Deployment](t, find(t, objects, "Deployment", "anymesh-gateway"))
	if d.Spec.Replicas != nil {
		t.Errorf("the Deployment sets %d replicas, which an upgrade would take from the autoscaler", *d.Spec.Replicas)
	}
	pod := d.Spec.Template.Spec
	if pod.NodeSelector["pool"] != "edge" || len(pod.Tolerations) != 1 || pod.Tolerations[0].Key != "edge" ||
		pod.Affinity.NodeAffinity == nil {
		t.Errorf("the pods have %v, %v, %v", pod.NodeSelector, pod.Tolerations, pod.Affinity)
	}
	spread := pod.TopologySpreadConstraints
	if len(spread) != 2 || spread[0].MaxSkew != 2 || spread[0].LabelSelector.MatchLabels["anymesh.dev/gateway"] == "" ||
		spread[1].LabelSelector.MatchLabels["a"] != "b" {
		t.Errorf("the constraints are %+v", spread)
	}
	if r := pod.Containers[0].Resources; r.Requests.Cpu().String() != "2" || r.Limits.Memory().String() != "1Gi" {
		t.Errorf("the resources are %+v", r)
	}
	scaler := typed[autoscalingv2.HorizontalPodAutoscaler](t,
		find(t, objects, "HorizontalPodAutoscaler", "anymesh-gateway"))
	metric := scaler.Spec.Metrics[0].ContainerResource
	if *scaler.Spec.MinReplicas != 3 || scaler.Spec.MaxReplicas != 9 || scaler.Spec.ScaleTargetRef.Name != d.Name ||
		metric.Container != pod.Containers[0].Name || *metric.Target.AverageUtilization != 55 {
		t.Errorf("the autoscaler is %+v", scaler.Spec)
	}
	budget := typed[policyv1.PodDisruptionBudget](t, find(t, objects, "PodDisruptionBudget", "anymesh-gateway"))
	if budget.Spec.MinAvailable == nil || budget.Spec.MinAvailable.String() != "50%" || budget.Spec.MaxUnavailable != nil {
		t.Errorf("the budget is %+v", budget.Spec)
	}
}
