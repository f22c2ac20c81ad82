package inject

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// podOfClass returns the plain pod with a sidecarClass annotation.
func podOfClass(t *testing.T, class string) []byte {
	t.Helper()
	var pod corev1.Pod
	if err := json.Unmarshal(asJSON(t, plainPod), &pod); err != nil {
		t.Fatal(err)
	}
	if class != "" {
		pod.Annotations = map[string]string{sidecar.ClassAnnotation: class}
	}
	out, err := json.Marshal(&pod)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The class of a pod is the annotation of the pod, else of the namespace, else the default of the mesh. It is
// recorded in the pod.
func TestClassOfPod(t *testing.T) {
	for name, c := range map[string]struct{ pod, namespace, want, image, initImage string }{
		"default of the mesh":                            {"", "", "small", "sidecar:1", "init:1"},
		"annotation of the namespace":                    {"", "second", "second", "second:1", "init:1"},
		"annotation of the pod takes precedence":         {"small", "second", "small", "sidecar:1", "init:1"},
		"annotation of the pod":                          {"second", "", "second", "second:1", "init:1"},
		"invalid annotation of the namespace is ignored": {"second", "nonsense", "second", "second:1", "init:1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(fakeCluster{
				workload: front(), annotations: map[string]string{sidecar.ClassAnnotation: c.namespace},
			})
			raw := podOfClass(t, c.pod)
			var pod corev1.Pod
			if err := json.Unmarshal(admitted(t, raw, w.Handle(t.Context(), request(raw))), &pod); err != nil {
				t.Fatal(err)
			}
			if got := pod.Annotations[sidecar.ClassAnnotation]; got != c.want {
				t.Errorf("the pod has class %q, want %q", got, c.want)
			}
			images := map[string]string{}
			for _, container := range pod.Spec.InitContainers {
				images[container.Name] = container.Image
			}
			if images["envoy"] != c.image || images[captureContainer] != c.initImage {
				t.Errorf("images: %v, want %s and %s", images, c.image, c.initImage)
			}
		})
	}
}

func TestUnknownClassIsDenied(t *testing.T) {
	const known = "; the classes of the mesh are small, second"
	for name, c := range map[string]struct{ pod, namespace, want string }{
		"annotation of the pod":       {"nonsense", "", `annotation anymesh.dev/sidecarClass of the pod is "nonsense", which is not a sidecar driver` + known},
		"annotation of the namespace": {"", "nonsense", `annotation anymesh.dev/sidecarClass of namespace a is "nonsense", which is not a sidecar driver` + known},
		"upper case":                  {"Second", "", `"Second", which is not a sidecar driver`},
		"settings without a driver":   {"elsewhere", "", `"elsewhere", which is not a sidecar driver`},
		"driver without settings":     {"unset", "", `"unset", a driver without settings in the mesh: add an entry with sidecarName, sidecarImage and proxyServerPort to osm.sidecarDrivers`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(fakeCluster{
				workload: front(), annotations: map[string]string{sidecar.ClassAnnotation: c.namespace},
			})
			response := w.Handle(t.Context(), request(podOfClass(t, c.pod)))
			if response.Allowed || !strings.Contains(response.Result.Message, c.want) ||
				!strings.Contains(response.Result.Message, "pod front-1 cannot get a sidecar") {
				t.Errorf("allowed %v: %v; want %q", response.Allowed, response.Result, c.want)
			}
		})
	}
}
