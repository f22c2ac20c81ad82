package check

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"anymesh.dev/anymesh/internal/identity"
)

func TestDeploymentReady(t *testing.T) {
	deployment := func(want *int32, available int32) *appsv1.Deployment {
		d := &appsv1.Deployment{
			Spec:   appsv1.DeploymentSpec{Replicas: want},
			Status: appsv1.DeploymentStatus{AvailableReplicas: available, UpdatedReplicas: available, Replicas: available},
		}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "i"}}
		return d
	}
	if detail, err := deploymentReady(deployment(nil, 1)); err != nil || detail != "1 of 1 replicas, image i" {
		t.Errorf("%q, %v", detail, err)
	}
	for _, d := range []*appsv1.Deployment{
		deployment(nil, 0), deployment(new(int32(2)), 1), deployment(new(int32(0)), 0),
	} {
		if _, err := deploymentReady(d); err == nil {
			t.Errorf("%d of %v available replicas: got no error", d.Status.AvailableReplicas, d.Spec.Replicas)
		}
	}
}

// The old replica serves while the new one crashes, for example because of a wrong image.
func TestControlPlaneTellsWhyPodsAreNotReady(t *testing.T) {
	labels := map[string]string{"app": "anymesh"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: resourceName, Namespace: "n"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "nowhere/x:1"}}
	d.Status = appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 1}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", Labels: labels}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"},
	}}}
	c := &Cluster{Namespace: "n", Client: fake.NewClientBuilder().WithObjects(d, p).Build()}
	_, err := ready(t.Context(), c)
	if want := "0 of 1 replicas are ready with image nowhere/x:1; Pod p, container c: ErrImagePull"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: identity.RecordConfigMap, Namespace: "n",
		Annotations: map[string]string{identity.ProblemAnnotation(identity.CASecret): "the Secret is missing"}}}
	if err := c.Client.Create(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if _, err := ready(t.Context(), c); err == nil || !strings.HasSuffix(err.Error(), "; the Secret is missing") {
		t.Errorf("without the authority: %v", err)
	}
}
