package aggregate

import (
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

var autoscalerPrinter = printed("Name,Reference,Targets,MinPods,MaxPods,Replicas,Age",
	func(h *autoscalingv2.HorizontalPodAutoscaler) []any {
		lowest := "<unset>"
		if h.Spec.MinReplicas != nil {
			lowest = fmt.Sprint(*h.Spec.MinReplicas)
		}
		return []any{
			h.Name, h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name, autoscalerTargets(h), lowest,
			h.Spec.MaxReplicas, h.Status.CurrentReplicas, age(h.CreationTimestamp),
		}
	})

// maxTargets is how many metrics a cell shows.
const maxTargets = 2

func autoscalerTargets(h *autoscalingv2.HorizontalPodAutoscaler) string {
	var out []string
	for i, spec := range h.Spec.Metrics {
		var status autoscalingv2.MetricStatus
		if i < len(h.Status.CurrentMetrics) {
			status = h.Status.CurrentMetrics[i]
		}
		out = append(out, autoscalerTarget(spec, status))
	}
	switch {
	case len(out) == 0:
		return "<none>"
	case len(out) > maxTargets:
		return fmt.Sprintf("%s + %d more...", strings.Join(out[:maxTargets], ", "), len(out)-maxTargets)
	}
	return strings.Join(out, ", ")
}

// autoscalerTarget prints CURRENT/TARGET of a metric. The status may lack the metric.
func autoscalerTarget(spec autoscalingv2.MetricSpec, status autoscalingv2.MetricStatus) string {
	var current *autoscalingv2.MetricValueStatus
	switch {
	case spec.Type == autoscalingv2.ExternalMetricSourceType && spec.External != nil:
		if status.External != nil {
			current = &status.External.Current
		}
		return valueTarget(spec.External.Target, current)
	case spec.Type == autoscalingv2.ObjectMetricSourceType && spec.Object != nil:
		if status.Object != nil {
			current = &status.Object.Current
		}
		return valueTarget(spec.Object.Target, current)
	case spec.Type == autoscalingv2.PodsMetricSourceType && spec.Pods != nil:
		if status.Pods != nil {
			current = &status.Pods.Current
		}
		return quantity(current, averageOf) + "/" + quantityText(spec.Pods.Target.AverageValue)
	case spec.Type == autoscalingv2.ResourceMetricSourceType && spec.Resource != nil:
		if status.Resource != nil {
			current = &status.Resource.Current
		}
		return spec.Resource.Name.String() + ": " + resourceTarget(spec.Resource.Target, current)
	case spec.Type == autoscalingv2.ContainerResourceMetricSourceType && spec.ContainerResource != nil:
		if status.ContainerResource != nil {
			current = &status.ContainerResource.Current
		}
		return spec.ContainerResource.Name.String() + ": " + resourceTarget(spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

func valueTarget(target autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		if current != nil && current.AverageValue == nil {
			current = nil
		}
		return quantity(current, averageOf) + "/" + target.AverageValue.String() + " (avg)"
	}
	return quantity(current, valueOf) + "/" + quantityText(target.Value)
}

func resourceTarget(target autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantity(current, averageOf) + "/" + target.AverageValue.String()
	}
	now, wanted := "<unknown>", "<auto>"
	if current != nil && current.AverageUtilization != nil {
		now = fmt.Sprintf("%d%%", *current.AverageUtilization)
	}
	if target.AverageUtilization != nil {
		wanted = fmt.Sprintf("%d%%", *target.AverageUtilization)
	}
	return now + "/" + wanted
}

func averageOf(s *autoscalingv2.MetricValueStatus) *resource.Quantity { return s.AverageValue }
func valueOf(s *autoscalingv2.MetricValueStatus) *resource.Quantity   { return s.Value }

func quantity(
	current *autoscalingv2.MetricValueStatus, of func(*autoscalingv2.MetricValueStatus) *resource.Quantity,
) string {
	if current == nil {
		return "<unknown>"
	}
	return quantityText(of(current))
}

// quantityText prints a quantity as kube-apiserver does, which has <nil> for a missing one.
func quantityText(q *resource.Quantity) string {
	if q == nil {
		return "<nil>"
	}
	return q.String()
}
