package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pauses between two changes, and between two requests for the endpoints of a sidecar.
const (
	changePause = 100 * time.Millisecond
	pollPause   = 5 * time.Millisecond
	// changeTimeout limits how long one change may take.
	changeTimeout = 30 * time.Second
)

// setReady writes the status of a pod without a process.
func (m *mesh) setReady(ctx context.Context, service, j int, ready bool) error {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	address := fmt.Sprintf("10.250.%d.%d", service, j+1)
	patch, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()}},
	}})
	if err != nil {
		return err
	}
	_, err = m.kube.CoreV1().Pods(namespace).Patch(ctx, fmt.Sprintf("%s-%d", serviceName(service), j), types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return err
}

// changeEndpoints removes and adds endpoints of services without processes, one after the other, and measures the time
// until a sidecar has each change.
func (m *mesh) changeEndpoints(ctx context.Context) (took []time.Duration, err error) {
	for n := 0; ; n++ {
		if !pause(ctx, changePause) {
			return took, nil
		}
		service := m.options.sidecars + n/2%(m.services-m.options.sidecars)
		ready := n%2 == 1
		began := time.Now()
		if err := m.setReady(context.WithoutCancel(ctx), service, 1, ready); err != nil {
			return took, err
		}
		want := 1
		if ready {
			want = 2
		}
		if err := m.waitEndpoints(m.sidecars[n%len(m.sidecars)].Status.PodIP, service, want); err != nil {
			return took, err
		}
		took = append(took, time.Since(began))
	}
}

// waitEndpoints waits until a sidecar has a number of endpoints of a service. Its statistics are read-only on port
// 9901.
func (m *mesh) waitEndpoints(sidecar string, service, want int) error {
	ctx, cancel := context.WithTimeout(context.Background(), changeTimeout)
	defer cancel()
	filter := fmt.Sprintf(`^cluster[.].*%s_%s_http_%d[.]membership_total$`, serviceName(service), namespace, port)
	for {
		got, err := request(ctx, http.MethodGet, "http://"+sidecar+":9901/stats?type=Gauges&filter="+url.QueryEscape(filter))
		if err != nil {
			return err
		}
		if strings.HasSuffix(strings.TrimSpace(got), fmt.Sprintf("membership_total: %d", want)) {
			return nil
		}
		if !pause(ctx, pollPause) {
			return fmt.Errorf("sidecar %s has not %d endpoints of %s within %v: %q", sidecar, want, serviceName(service), changeTimeout, got)
		}
	}
}

// createPods creates pods that get a sidecar, one after the other, and measures the time of each request.
func (m *mesh) createPods(ctx context.Context) (took []time.Duration, err error) {
	pods := m.kube.CoreV1().Pods(namespace)
	for n := 0; ; n++ {
		if !pause(ctx, changePause) {
			return took, nil
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("created-%d", time.Now().UnixNano()), Labels: map[string]string{
			"app": serviceName(n % m.options.sidecars),
		}}, Spec: corev1.PodSpec{SchedulerName: "none", Containers: []corev1.Container{{Name: "app", Image: "none"}}}}
		began := time.Now()
		created, err := pods.Create(context.WithoutCancel(ctx), p, metav1.CreateOptions{})
		if err != nil {
			return took, err
		}
		took = append(took, time.Since(began))
		if len(created.Spec.InitContainers) == 0 {
			return took, fmt.Errorf("pod %s was created without a sidecar", p.Name)
		}
		if err := pods.Delete(context.WithoutCancel(ctx), p.Name, *metav1.NewDeleteOptions(0)); err != nil {
			return took, err
		}
	}
}

// request returns the body of a successful response.
func request(ctx context.Context, method, at string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, at, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: status %d: %s: %w", at, response.StatusCode, text, err)
	}
	return string(text), nil
}

// pause reports false if the context ends.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
