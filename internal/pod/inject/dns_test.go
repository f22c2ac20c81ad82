package inject

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/sidecar"
)

// The annotation of the pod takes precedence over that of the namespace, and that over the setting of the mesh.
func TestAnswersNames(t *testing.T) {
	for name, tt := range map[string]struct {
		pod, namespace, mesh, class string
		ownCapture                  bool
		want                        bool
		wantError                   string
	}{
		"default":                    {class: "small", want: true},
		"off in the mesh":            {class: "small", mesh: "Off"},
		"off in the namespace":       {class: "small", namespace: "Off"},
		"on in the namespace":        {class: "small", namespace: "Unresolved", mesh: "Off", want: true},
		"off in the pod":             {class: "small", pod: "Off", namespace: "Unresolved"},
		"on in the pod":              {class: "small", pod: "Unresolved", namespace: "Off", want: true},
		"driver without a renderer":  {class: "second"},
		"own capture container":      {class: "small", ownCapture: true},
		"invalid in the namespace":   {class: "small", namespace: "off", wantError: `of namespace a is "off"`},
		"invalid in the mesh config": {class: "small", mesh: "x", wantError: `of the mesh configuration is "x"`},
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
			got, err := w.answersNames(pod, map[string]string{sidecar.DNSAnnotation: tt.namespace}, tt.class)
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
