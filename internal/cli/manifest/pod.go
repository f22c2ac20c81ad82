package manifest

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// workload has the fields of Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, CronJobs and other kinds that
// define pods.
type workload struct {
	Spec struct {
		Replicas    *int32                  `json:"replicas"`
		Template    *corev1.PodTemplateSpec `json:"template"`
		JobTemplate *struct {
			Spec struct {
				Template *corev1.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

// fromTemplate reports whether podsOf made a pod.
func fromTemplate(pod *corev1.Pod) bool { return strings.Contains(string(pod.UID), " ") }

// NoReplicas reports whether a pod stands for the template of a workload with 0 replicas.
func NoReplicas(pod *corev1.Pod) bool {
	return fromTemplate(pod) && pod.Status.Phase == corev1.PodPending
}

// WorkloadOf names the workload that a pod is made from, or the pod.
func WorkloadOf(pod *corev1.Pod) string {
	if fromTemplate(pod) {
		return string(pod.UID)
	}
	return "Pod " + pod.Namespace + "/" + pod.Name
}

// maxMembers limits the pods of a StatefulSet that are made. A file may ask for any number.
const maxMembers = 100

// podsOf makes pods from the template of a workload: the members of a StatefulSet, which clients know by their names,
// else one with the name of the workload. A kind that Kubernetes does not have, such as a Rollout, is a workload if its
// template has containers. It returns none for other kinds.
func podsOf(d *Document, namespace string) []*corev1.Pod {
	var w workload
	if err := json.Unmarshal(d.Content(), &w); err != nil {
		return nil
	}
	template := w.Spec.Template
	if w.Spec.JobTemplate != nil {
		template = w.Spec.JobTemplate.Spec.Template
	}
	builtin := d.GVK.Group == "apps" || d.GVK.Group == "batch"
	if template == nil || !builtin && len(template.Spec.Containers) == 0 {
		return nil
	}
	if d.Ref.Namespace != "" {
		namespace = d.Ref.Namespace
	}
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Ref.Name, Namespace: namespace, UID: types.UID(d.GVK.Kind + " " + namespace + "/" + d.Ref.Name),
			Labels: template.Labels, Annotations: template.Annotations,
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: template.Spec.ServiceAccountName, HostNetwork: template.Spec.HostNetwork,
			Containers: template.Spec.Containers,
		},
	}
	if w.Spec.Replicas != nil && *w.Spec.Replicas == 0 {
		out.Status.Phase = corev1.PodPending // the pod stands for its template only
		return []*corev1.Pod{out}
	}
	if d.GVK.Group != "apps" || d.GVK.Kind != "StatefulSet" {
		return []*corev1.Pod{out}
	}
	members := int32(1)
	if w.Spec.Replicas != nil {
		members = min(*w.Spec.Replicas, maxMembers)
	}
	var all []*corev1.Pod
	for i := range members {
		member := out.DeepCopy()
		member.Name = fmt.Sprintf("%s-%d", out.Name, i)
		all = append(all, member)
	}
	return all
}
