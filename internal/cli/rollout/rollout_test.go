package rollout

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestReady(t *testing.T) {
	for _, c := range []struct {
		name                               string
		generation, observed               int64
		want, updated, available, replicas int32
		ready                              int32
		complete                           bool
	}{
		{"complete", 3, 3, 2, 2, 2, 2, 2, true},
		{"generation not observed", 4, 3, 2, 2, 2, 2, 0, false},
		{"the new pod crashes while the old one serves", 3, 3, 1, 1, 1, 2, 0, false},
		{"the old pod still serves", 3, 3, 1, 1, 2, 2, 1, false},
		{"one of two is updated", 3, 3, 2, 1, 2, 2, 1, false},
		{"scaled down", 3, 3, 0, 0, 0, 0, 0, true},
	} {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &c.want}}
		d.Generation = c.generation
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: c.observed, UpdatedReplicas: c.updated, AvailableReplicas: c.available, Replicas: c.replicas,
		}
		if ready, complete := Ready(d), Complete(d); ready != c.ready || complete != c.complete {
			t.Errorf("%s: got %d, %v, want %d, %v", c.name, ready, complete, c.ready, c.complete)
		}
	}
}

func TestFaults(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	pod := func(name string, s corev1.PodStatus) client.Object {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", Labels: map[string]string{"app": "a"}}, Status: s,
		}
	}
	other := pod("other", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("ImagePullBackOff", "")}}})
	other.SetLabels(nil)
	c := fake.NewClientBuilder().WithObjects(
		pod("a", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("ImagePullBackOff", "no image\n nowhere/x:1")}}}),
		pod("b", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", State: waiting("CrashLoopBackOff", ""),
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Message: "bad flag"}},
		}}}),
		pod("c", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("ContainerCreating", "")}}}),
		pod("d", corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes",
		}}}),
		pod("e", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}),
		other,
	).Build()
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
		Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
			Message: "exceeded quota",
		}}},
	}
	got, err := Faults(t.Context(), c, d)
	want := []string{
		"no pod can be created: FailedCreate: exceeded quota",
		"Pod a, container c: ImagePullBackOff: no image nowhere/x:1",
		"Pod b, container c: CrashLoopBackOff; it exited with code 2: bad flag",
		"Pod d: Unschedulable: 0/1 nodes",
		"Pod e, container c: it runs, and its readiness probe does not pass",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
