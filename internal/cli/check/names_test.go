package check

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/sidecar"
)

// clientPod is a running pod of the VirtualNode that its label names.
func clientPod(name, node string, mode string, injected bool) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: name, UID: types.UID("uid of " + name), Labels: map[string]string{"app": node},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if injected {
		p.Spec.InitContainers = []corev1.Container{agent()}
		p.Labels[sidecar.UUIDLabel] = name
	}
	if mode != "" {
		p.Annotations = map[string]string{sidecar.DNSAnnotation: mode}
	}
	return p
}

// The check names the pods whose agents do not answer the names of their backends. Backends with a Service, and pods
// without backends or without a sidecar, are left out.
func TestNamesThatNoAgentAnswers(t *testing.T) {
	node := func(name string, backends ...string) *api.VirtualNode {
		n := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
		n.Spec.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		for _, b := range backends {
			n.Spec.Backends = append(n.Spec.Backends, api.Backend{VirtualService: api.VirtualServiceBackend{
				VirtualServiceRef: &api.VirtualServiceReference{Name: b},
			}})
		}
		return n
	}
	service := func(name string) *api.VirtualService {
		return &api.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}},
		&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "known"}},
		service("known"), service("unknown"), node("front", "known", "unknown"), node("other", "known"),
	}
	for name, c := range map[string]struct {
		pods []client.Object
		want string
	}{
		"no pods":         {nil, "0 pods"},
		"answered":        {[]client.Object{clientPod("a", "front", "Unresolved", true), clientPod("b", "front", "All", true)}, "2 pods"},
		"without sidecar": {[]client.Object{clientPod("a", "front", "", false)}, "0 pods"},
		"known names":     {[]client.Object{clientPod("a", "other", "Off", true)}, "1 pod"},
		"mode Off":        {[]client.Object{clientPod("a", "front", "Off", true)}, "VirtualNode demo/front, pod a: unknown.demo"},
		"older than the DNS server, during a rollout": {
			[]client.Object{
				clientPod("a", "front", "", true), clientPod("b", "front", "", true), clientPod("c", "front", "Unresolved", true),
			},
			"VirtualNode demo/front, pods a, b: unknown.demo",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := unanswered(engine.Compute(dialect.All(), engine.Settings{}, append(c.pods, objects...)))
			var w warning
			if errors.As(err, &w) {
				got = w.text
			}
			if got != c.want {
				t.Errorf("got %q (error %v), want %q", got, err, c.want)
			}
		})
	}
}
