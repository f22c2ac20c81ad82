package store

import (
	"encoding/json"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: status}
}

// Each field of a Pod is that of the whole pod.
func TestFieldsOfPod(t *testing.T) {
	addresses := func(texts ...string) func(p *Pod) bool {
		return func(p *Pod) bool {
			return slices.EqualFunc(p.Addresses(), texts, func(a netip.Addr, text string) bool { return a.String() == text })
		}
	}
	ready := []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue)}
	for _, c := range []struct {
		name string
		set  func(*corev1.Pod)
		want func(*Pod) bool
	}{
		{"empty", func(*corev1.Pod) {}, func(p *Pod) bool {
			return !p.Ready && !p.Terminated && !p.Deleting && !p.HasProxy() && p.Labels == "" && p.Settings().Gates == ""
		}},
		{"ready", func(p *corev1.Pod) { p.Status.Conditions = ready }, func(p *Pod) bool { return p.Ready }},
		{"ready is unknown", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionUnknown)}
		}, func(p *Pod) bool { return !p.Ready }},
		{"deleting", func(p *corev1.Pod) {
			p.Status.Conditions, p.DeletionTimestamp = ready, new(metav1.Unix(1, 0))
		}, func(p *Pod) bool { return !p.Ready && p.Deleting }},
		{"succeeded", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
			func(p *Pod) bool { return p.Terminated }},
		{"failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, func(p *Pod) bool { return p.Terminated }},
		{"running", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, func(p *Pod) bool { return !p.Terminated }},
		{"IPv6 first", func(p *corev1.Pod) {
			p.Status.PodIP, p.Status.PodIPs = "fd00::1", []corev1.PodIP{{IP: "fd00::1"}, {IP: "10.0.0.1"}}
		}, addresses("fd00::1", "10.0.0.1")},
		{"IPv6 alone", func(p *corev1.Pod) { p.Status.PodIP = "fd00::1" }, addresses("fd00::1")},
		{"an invalid address", func(p *corev1.Pod) {
			p.Status.PodIPs = []corev1.PodIP{{IP: "x"}, {IP: "10.0.0.2"}, {IP: "10.0.0.3"}, {IP: "fd00::2"}, {IP: "fd00::3"}}
		}, addresses("10.0.0.2", "fd00::2")},
		{"proxy", func(p *corev1.Pod) { p.Labels = map[string]string{sidecar.UUIDLabel: ""} }, (*Pod).HasProxy},
		{"service account", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "a" },
			func(p *Pod) bool { return EndpointOf(p, model.Key{}, "").Identity.Account == "a" }},
		{"default service account", func(*corev1.Pod) {},
			func(p *Pod) bool { return EndpointOf(p, model.Key{}, "").Identity.Account == "default" }},
		{"annotations", func(p *corev1.Pod) {
			p.Annotations = map[string]string{
				sidecar.ClassAnnotation: "1", sidecar.DNSAnnotation: "2", sidecar.BypassAnnotation: "3", "other": "4",
			}
		}, func(p *Pod) bool { s := p.Settings(); return s.Class+s.DNS+s.Bypass == "123" }},
		{"gates", func(p *corev1.Pod) {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "b"}, {ConditionType: "a"}}
			p.Status.Conditions = []corev1.PodCondition{condition("a", "True"), condition("c", "True")}
		}, func(p *Pod) bool { return p.Settings().Gates == NewLabels(map[string]string{"a": "True", "b": ""}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "u"}}
			c.set(whole)
			p := NewPod(whole)
			if !c.want(p) || p.Name != "p" || p.Namespace() != "n" || p.UID != "u" {
				t.Errorf("got %+v with settings %+v and addresses %v", p, p.Settings(), p.Addresses())
			}
			if whole.ResourceVersion = "2"; !p.Equal(NewPod(whole)) {
				t.Error("it is not equal to a pod with another resourceVersion")
			}
			if whole.UID = "v"; p.Equal(NewPod(whole)) {
				t.Error("it is equal to another pod")
			}
		})
	}
}

// A Pod keeps neither the text nor the whole pod that it was decoded from.
func TestPodKeepsNoBuffer(t *testing.T) {
	whole := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "p", UID: "u", ResourceVersion: "7", Labels: map[string]string{"app": "a"},
			Annotations: map[string]string{sidecar.ClassAnnotation: "class", "large": strings.Repeat("x", 1<<20)},
		},
		Spec:   corev1.PodSpec{ServiceAccountName: "robot"},
		Status: corev1.PodStatus{PodIP: "10.0.0.1"},
	}
	inJSON, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	inProtobuf, err := whole.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text   []byte
		decode func([]byte, *corev1.Pod) error
	}{
		"JSON":     {inJSON, func(text []byte, into *corev1.Pod) error { return json.Unmarshal(text, into) }},
		"protobuf": {inProtobuf, func(text []byte, into *corev1.Pod) error { return into.Unmarshal(text) }},
	} {
		t.Run(name, func(t *testing.T) {
			text, decoded := slices.Clone(c.text), &corev1.Pod{}
			if err := c.decode(text, decoded); err != nil {
				t.Fatal(err)
			}
			p := NewPod(decoded)
			buffer, pod := weak.Make(&text[0]), weak.Make(decoded)
			value := weak.Make(unsafe.StringData(decoded.Annotations["large"]))
			runtime.GC() // text and decoded are not used below, so that they are garbage
			if buffer.Value() != nil || pod.Value() != nil || value.Value() != nil {
				t.Errorf("in memory: text %v, pod %v, annotation %v", buffer.Value(), pod.Value(), value.Value())
			}
			if !p.Equal(NewPod(whole)) {
				t.Errorf("got %+v", p)
			}
			runtime.KeepAlive(p)
		})
	}
}

// Caches and events share pods.
func TestPodIsReadOnly(t *testing.T) {
	p := NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}}})
	for name, set := range map[string]func(){
		"name": func() { p.SetName("q") }, "labels": func() { p.SetLabels(nil) },
		"resourceVersion": func() { p.SetResourceVersion("1") },
		"annotations":     func() { p.SetAnnotations(map[string]string{"a": "b"}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it can be set")
				}
			}()
			set()
		})
	}
	p.GetLabels()["a"] = "c"
	if p.Labels.Get("a") != "b" {
		t.Error("the map of labels is shared")
	}
}
