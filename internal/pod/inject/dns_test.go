package inject

import (
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
		pod, namespace, class string
		mesh, want            model.DNSMode
		ownCapture            bool
		wantError             string
	}{
		"default":                   {class: "small", want: "Unresolved"},
		"off in the mesh":           {class: "small", mesh: "Off", want: "Off"},
		"off in the namespace":      {class: "small", namespace: "Off", want: "Off"},
		"all in the mesh":           {class: "small", mesh: "All", want: "All"},
		"all in the pod":            {class: "small", pod: "All", mesh: "Off", want: "All"},
		"on in the namespace":       {class: "small", namespace: "Unresolved", mesh: "Off", want: "Unresolved"},
		"off in the pod":            {class: "small", pod: "Off", namespace: "Unresolved", want: "Off"},
		"on in the pod":             {class: "small", pod: "Unresolved", namespace: "Off", want: "Unresolved"},
		"driver without a renderer": {class: "second", want: "Off"},
		"own capture container":     {class: "small", ownCapture: true, want: "Off"},
		"invalid in the namespace":  {class: "small", namespace: "off", wantError: `of namespace a is "off"`},
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
			got, err := w.dnsMode(pod, map[string]string{sidecar.DNSAnnotation: tt.namespace}, tt.class)
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
