// Package rollout tells whether a Deployment is rolled out.
//
// In: a Deployment, and its pods with the permissions of the user. Out: the reasons of pods that do not become ready,
// as kubelet and the ReplicaSet controller report them.
package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/truncate"
)

// Replicas is the number of replicas that a Deployment asks for.
func Replicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// Ready returns the number of replicas that are of the current template and available. While old replicas run, it is
// not known which of them are available: the unavailable ones are taken for new ones.
func Ready(d *appsv1.Deployment) int32 {
	s := d.Status
	if s.ObservedGeneration < d.Generation {
		return 0
	}
	return max(0, s.UpdatedReplicas-(s.Replicas-s.AvailableReplicas))
}

// Complete reports whether all replicas are of the current template and available, and no other replica is left.
func Complete(d *appsv1.Deployment) bool {
	return Ready(d) == Replicas(d) && d.Status.Replicas == Replicas(d)
}

// Faults tells why the pods of a Deployment are not ready: waiting and exit reasons of containers, pods that cannot be
// scheduled, and pods that cannot be created, for example because of a quota. Containers that are created are no fault.
func Faults(ctx context.Context, c client.Reader, d *appsv1.Deployment) ([]string, error) {
	var out []string
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			out = append(out, text("no pod can be created", condition.Reason, condition.Message))
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return out, fmt.Errorf("Deployment %s/%s: selector: %w", d.Namespace, d.Name, err)
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return out, err
	}
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods.Items {
		if fault := podFault(&pods.Items[i]); fault != "" {
			out = append(out, fault)
		}
	}
	return out, nil
}

// podFault returns the reason why a pod is not ready, or "".
func podFault(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return text("Pod "+p.Name, c.Reason, c.Message)
		}
	}
	unready := ""
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		what := fmt.Sprintf("Pod %s, container %s", p.Name, s.Name)
		if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			out := text(what, w.Reason, w.Message)
			if last := s.LastTerminationState.Terminated; last != nil {
				out += exit(last)
			}
			return out
		}
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return text(what, t.Reason, "") + exit(t)
		}
		if s.State.Running != nil && !s.Ready {
			unready = what + ": it runs, and its readiness probe does not pass"
		}
	}
	return unready
}

func exit(t *corev1.ContainerStateTerminated) string {
	out := fmt.Sprintf("; it exited with code %d", t.ExitCode)
	if message := oneLine(t.Message); message != "" {
		out += ": " + message
	}
	return out
}

// maxMessage limits the message of the cluster in a text, in bytes.
const maxMessage = 300

func text(what, reason, message string) string {
	out := what + ": " + reason
	if message = oneLine(message); message != "" {
		out += ": " + message
	}
	return out
}

func oneLine(message string) string {
	return truncate.Text(strings.Join(strings.Fields(message), " "), maxMessage)
}
