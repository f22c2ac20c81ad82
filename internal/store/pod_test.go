package store

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

func TestPod(t *testing.T) {
	labels := map[string]string{"app": "a", sidecar.UUIDLabel: "u"}
	p := NewPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "p", UID: "u1", ResourceVersion: "7", Labels: labels,
			Annotations: map[string]string{sidecar.ClassAnnotation: "class", sidecar.DNSAnnotation: "All"},
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: "robot", ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "g"}, {ConditionType: "h"}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "10.0.0.2"}, {IP: "fd00::1"}},
			Conditions: []corev1.PodCondition{{Type: "g", Status: "False"}, {Type: corev1.PodReady, Status: "True"}},
		},
	})
	addresses := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}
	want := model.Endpoint{
		Workload: model.Key{Mesh: "m", Name: "w"}, Instance: model.Instance{Namespace: "n", Name: "p", UID: "u1"},
		Addresses: addresses, Identity: model.Identity{TrustDomain: "d", Namespace: "n", Account: "robot"}, Ready: true,
	}
	if got := EndpointOf(p, want.Workload, "d"); !deepEqual(got, want) {
		t.Errorf("got endpoint %+v, want %+v", got, want)
	}
	if got := p.Settings(); got.Class != "class" || got.DNS != "All" || got.Bypass != "" ||
		got.Gates != NewLabels(map[string]string{"g": "False", "h": ""}) {
		t.Errorf("got settings %+v", got)
	}
	if !p.HasProxy() || p.Terminated || p.Deleting {
		t.Errorf("got %+v", p)
	}
	var o client.Object = p
	if client.ObjectKeyFromObject(o) != (types.NamespacedName{Namespace: "n", Name: "p"}) || o.GetUID() != "u1" ||
		o.GetResourceVersion() != "7" || !maps.Equal(o.GetLabels(), labels) || o.GetGeneration() != 0 ||
		o.DeepCopyObject() != o {
		t.Errorf("got metadata of %+v", o)
	}
}

// A pod without an address has no list of addresses, as an endpoint without addresses in the model.
func TestPodWithoutAddress(t *testing.T) {
	if got := NewPod(&corev1.Pod{}).Addresses(); got != nil {
		t.Errorf("got %v", got)
	}
	bad := &corev1.Pod{Status: corev1.PodStatus{PodIP: "x"}}
	if got := NewPod(bad).Addresses(); got != nil {
		t.Errorf("got %v", got)
	}
	one := &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1"}}
	if got := NewPod(one).Addresses(); !slices.Equal(got, Addresses(one)) || cap(got) != 1 {
		t.Errorf("got %v", got)
	}
}

// Most objects of a cluster are pods. Go allocates 128 bytes for a Pod, and 144 or more for a larger one.
func TestPodIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Pod{}); size > 128 {
		t.Errorf("a Pod has %d bytes", size)
	}
}
