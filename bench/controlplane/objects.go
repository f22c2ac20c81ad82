package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func serviceName(i int) string        { return fmt.Sprintf("service-%05d", i) }
func workloadName(i int) string       { return fmt.Sprintf("client-%03d", i) }
func endpointPod(i, j int) string     { return fmt.Sprintf("%s-%d", serviceName(i), j) }
func clientPod(i int) string          { return fmt.Sprintf("sidecar-%04d", i) }
func podAddress(i, j int) string      { return fmt.Sprintf("10.%d.%d.%d", 1+j, i/250, i%250+1) }
func clientAddress(i int) string      { return fmt.Sprintf("10.99.%d.%d", i/250, i%250+1) }
func meta(n string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: n} }

// pod returns a pod that no scheduler assigns, so that only the benchmark writes its status.
func pod(name, app string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{
		SchedulerName: "none", Containers: []corev1.Container{{Name: "app", Image: "none"}},
	}}
	p.Labels = map[string]string{"app": app}
	return p
}

// waitTimeout limits every wait.
const waitTimeout = 2 * time.Minute

// eventually retries until try succeeds.
func eventually(ctx context.Context, what string, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
