package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

func serviceName(i int) string        { return fmt.Sprintf("service-%05d", i) }
func workloadName(i int) string       { return fmt.Sprintf("client-%03d", i) }
func endpointPod(i, j int) string     { return fmt.Sprintf("%s-%d", serviceName(i), j) }
func clientPod(i int) string          { return fmt.Sprintf("sidecar-%04d", i) }
func meta(n string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: n} }

// clusterName is the name of the Envoy cluster, and of its endpoints, that leads to a service.
func clusterName(i int) string {
	return fmt.Sprintf("cds_egress_%s_%s_%s_http_%d", meshName, serviceName(i), namespace, port)
}

// node is a VirtualNode that is found by its pods.
func node(name string) *api.VirtualNode {
	return &api.VirtualNode{ObjectMeta: meta(name), Spec: api.VirtualNodeSpec{
		PodSelector:      &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		Listeners:        []api.Listener{{PortMapping: api.PortMapping{Port: port, Protocol: "http"}}},
		ServiceDiscovery: &api.ServiceDiscovery{AWSCloudMap: &api.AWSCloudMapServiceDiscovery{NamespaceName: "bench", ServiceName: name}},
	}}
}

// workload is a VirtualNode that reaches every service.
func workload(i, services int) *api.VirtualNode {
	n := node(workloadName(i))
	for j := range services {
		n.Spec.Backends = append(n.Spec.Backends, api.Backend{VirtualService: api.VirtualServiceBackend{
			VirtualServiceRef: &api.VirtualServiceReference{Name: serviceName(j)},
		}})
	}
	return n
}

// pod is one that no scheduler takes, so that it stays what we say it is.
func pod(name, app string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{
		SchedulerName: "nobody", Containers: []corev1.Container{{Name: "app", Image: "none"}},
	}}
	p.Labels = map[string]string{"app": app}
	return p
}

// setReady says that a pod of a service runs, and whether it is ready.
func (c *cluster) setReady(ctx context.Context, service, j int, ready bool) error {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	address := fmt.Sprintf("10.%d.%d.%d", 1+j, service/250, service%250+1)
	patch, err := json.Marshal(map[string]any{"status": corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second))}},
	}})
	if err != nil {
		return err
	}
	p := &corev1.Pod{ObjectMeta: meta(endpointPod(service, j))}
	return c.client.Status().Patch(ctx, p, client.RawPatch(types.StrategicMergePatchType, patch))
}

// patience bounds every wait.
const patience = 2 * time.Minute

// eventually tries until it succeeds.
func eventually(ctx context.Context, what string, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
