package inject

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// The annotation of the pod takes precedence over that of the namespace, and that over the setting of the mesh.
func TestDNSMode(t *testing.T) {
	for name, tt := range map[string]struct {
		pod, namespace string
		mesh, want     model.DNSMode
		ownCapture     bool
		wantError      string
	}{
		"default":                  {want: "Unresolved"},
		"off in the mesh":          {mesh: "Off", want: "Off"},
		"off in the namespace":     {namespace: "Off", want: "Off"},
		"all in the mesh":          {mesh: "All", want: "All"},
		"all in the pod":           {pod: "All", mesh: "Off", want: "All"},
		"on in the namespace":      {namespace: "Unresolved", mesh: "Off", want: "Unresolved"},
		"off in the pod":           {pod: "Off", namespace: "Unresolved", want: "Off"},
		"on in the pod":            {pod: "Unresolved", namespace: "Off", want: "Unresolved"},
		"own capture container":    {ownCapture: true, want: "Off"},
		"invalid in the namespace": {namespace: "off", wantError: `of namespace a is "off"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(fakeCluster{})
			w.Mesh = &sidecar.MeshConfig{Sidecar: sidecar.Settings{DNS: tt.mesh}}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "a", Annotations: map[string]string{sidecar.DNSAnnotation: tt.pod},
			}}
			if tt.ownCapture {
				pod.Spec.InitContainers = []corev1.Container{{Name: captureContainer}}
			}
			got, err := w.dnsMode(pod, map[string]string{sidecar.DNSAnnotation: tt.namespace})
			if tt.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantError) {
					t.Errorf("error %v, want %s", err, tt.wantError)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %v, error %v, want %v", got, err, tt.want)
			}
		})
	}
}

// The agent gets host names from the control plane with any driver: on the port of the driver, or on that of names.
func TestAgentOfEachDriverGetsNames(t *testing.T) {
	for class, want := range map[string]string{
		"small":  "anymesh.anymesh-system.svc.cluster.local:15128",
		"second": "anymesh.anymesh-system.svc.cluster.local:15011", // delivers configuration itself
	} {
		t.Run(class, func(t *testing.T) {
			w := newWebhook(fakeCluster{workload: front()})
			raw := []byte(`{"metadata":{"name":"x","namespace":"a","annotations":{"anymesh.dev/sidecarClass":"` + class + `"}},
				"spec":{"containers":[{"name":"app","image":"app:1"}]}}`)
			var pod corev1.Pod
			if err := json.Unmarshal(admitted(t, raw, w.Handle(t.Context(), request(raw))), &pod); err != nil {
				t.Fatal(err)
			}
			last := pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1]
			i := slices.Index(last.Command, "--xds-address")
			if i < 0 || last.Command[i+1] != want || pod.Annotations[sidecar.DNSAnnotation] != "Unresolved" {
				t.Errorf("command %q, annotations %v", last.Command, pod.Annotations)
			}
		})
	}
}
