package manifest_test

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
)

// Services get different addresses if the cluster would assign them; their namespaces are not assumed.
func TestAssumedAddresses(t *testing.T) {
	var objects []client.Object
	for name, spec := range map[string]corev1.ServiceSpec{
		"a": {}, "b": {Type: corev1.ServiceTypeLoadBalancer}, "headless": {ClusterIP: "None"}, "fixed": {ClusterIP: "10.0.0.1"},
		"external": {Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"},
	} {
		service := &corev1.Service{Spec: spec}
		service.Name, service.Namespace = name, "demo"
		objects = append(objects, service)
	}
	set := &manifest.Set{Objects: objects}
	set.Complete(dialect.All())
	if len(set.Objects) != len(objects) {
		t.Errorf("got %d objects, want %d", len(set.Objects), len(objects))
	}
	seen := map[string]string{}
	for _, o := range objects {
		ip := o.(*corev1.Service).Spec.ClusterIP
		a, err := netip.ParseAddr(ip)
		if assumed := err == nil && manifest.Assumed(a); assumed != (len(o.GetName()) == 1) {
			t.Errorf("%s: got clusterIP %q", o.GetName(), ip)
		}
		if other := seen[ip]; other != "" {
			t.Errorf("%s and %s have the clusterIP %q", other, o.GetName(), ip)
		}
		seen[ip] = o.GetName()
	}
}

func TestDNSModeOfNamespace(t *testing.T) {
	namespace := &corev1.Namespace{}
	namespace.Name, namespace.Annotations = "demo", map[string]string{"anymesh.dev/dns": "Off", "anymesh.dev/sidecarClass": "x"}
	own, other := &corev1.Pod{}, &corev1.Pod{}
	own.Namespace, own.Annotations = "demo", map[string]string{"anymesh.dev/dns": "All"}
	other.Namespace = "demo"
	set := &manifest.Set{Objects: []client.Object{own, other, namespace}}
	set.Complete(dialect.All())
	for pod, want := range map[*corev1.Pod]string{own: "All", other: "Off"} {
		if got := pod.Annotations["anymesh.dev/dns"]; got != want || pod.Annotations["anymesh.dev/sidecarClass"] != "x" {
			t.Errorf("got annotations %v, want DNS mode %s", pod.Annotations, want)
		}
	}
}
