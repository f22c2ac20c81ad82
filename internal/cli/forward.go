package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// debugPort is the port of the control plane's debug server, on the loopback address of its pod.
const debugPort = 9091

// maxDumpSize limits a response of a debug server, in bytes.
const maxDumpSize = 256 << 20

// controlPlanes finds the running pods of the control plane.
func controlPlanes(ctx context.Context, kube client.Client, namespace string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := kube.List(ctx, &pods, client.InNamespace(namespace),
		client.MatchingLabels{"app.kubernetes.io/name": "anymesh"}); err != nil {
		return nil, fmt.Errorf("finding the control plane: %w", err)
	}
	var running []corev1.Pod
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			running = append(running, p)
		}
	}
	if len(running) == 0 {
		return nil, fmt.Errorf("no control plane is running in namespace %s; set --system-namespace, or run anymesh check", namespace)
	}
	return running, nil
}

// queryDebug sends a GET request to the debug server of a pod, by port-forward through the API server.
func queryDebug(ctx context.Context, config *rest.Config, pod corev1.Pod, path string) ([]byte, error) {
	body, err := portForwardGet(ctx, config, pod, debugPort, path)
	if err != nil {
		return nil, fmt.Errorf("querying control plane %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return body, nil
}

// portForwardGet sends a GET request to a port of a pod, from inside the pod.
func portForwardGet(ctx context.Context, config *rest.Config, pod corev1.Pod, port int, path string) ([]byte, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	u := kube.CoreV1().RESTClient().Post().
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, u)
	stop, ready := make(chan struct{}), make(chan struct{})
	defer close(stop)
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"},
		[]string{fmt.Sprintf("0:%d", port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 1)
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", ports[0].Local, path), nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxDumpSize))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(string(body))
	}
	return body, err
}
