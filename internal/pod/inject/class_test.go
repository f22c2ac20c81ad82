package inject

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// classed is the plain pod with a class.
func classed(t *testing.T, class string) []byte {
	t.Helper()
	var pod corev1.Pod
	if err := json.Unmarshal(asJSON(t, plain), &pod); err != nil {
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

// The class of a pod is that of its annotation, else of its namespace, else of the mesh, and stays with the pod.
func TestClassOfPod(t *testing.T) {
	for name, c := range map[string]struct{ pod, namespace, want, image, initImage string }{
		"the default of the mesh":              {"", "", "small", "sidecar:1", "init:1"},
		"the namespace's":                      {"", "second", "second", "second:1", "init:1"},
		"the pod's counts more":                {"small", "second", "small", "sidecar:1", "init:1"},
		"the pod's":                            {"second", "", "second", "second:1", "init:1"},
		"the namespace's may be wrong by then": {"second", "nonsense", "second", "second:1", "init:1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(fakeCluster{
				workload: front(), annotations: map[string]string{sidecar.ClassAnnotation: c.namespace},
			})
			raw := classed(t, c.pod)
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
	for name, c := range map[string]struct{ pod, namespace, says string }{
		"of a pod":                        {"nonsense", "", `annotation anymesh.dev/sidecarClass of the pod is "nonsense", which is no sidecar driver` + known},
		"of a namespace":                  {"", "nonsense", `annotation anymesh.dev/sidecarClass of namespace a is "nonsense", which is no sidecar driver` + known},
		"in other letters":                {"Second", "", `"Second", which is no sidecar driver`},
		"with an entry, and not built in": {"elsewhere", "", `"elsewhere", which is no sidecar driver`},
		"built in, and without an entry":  {"unset", "", `"unset", which the mesh has no settings for: add an entry with sidecarName, sidecarImage and proxyServerPort to osm.sidecarDrivers`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(fakeCluster{
				workload: front(), annotations: map[string]string{sidecar.ClassAnnotation: c.namespace},
			})
			response := w.Handle(t.Context(), request(classed(t, c.pod)))
			if response.Allowed || !strings.Contains(response.Result.Message, c.says) ||
				!strings.Contains(response.Result.Message, "pod front-1 cannot get a sidecar") {
				t.Errorf("allowed %v: %v; want %q", response.Allowed, response.Result, c.says)
			}
		})
	}
}
