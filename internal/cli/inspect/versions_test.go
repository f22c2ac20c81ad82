package inspect

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/build"
	"anymesh.dev/anymesh/internal/cli/terminal"
)

func podWith(phase corev1.PodPhase, image string, command ...string) corev1.Pod {
	return corev1.Pod{
		Spec:   corev1.PodSpec{InitContainers: []corev1.Container{{Image: image, Command: command}}},
		Status: corev1.PodStatus{Phase: phase},
	}
}

func TestVersions(t *testing.T) {
	agent := []string{"anymesh", "agent", "--"}
	v := Versions{
		Client:       build.Info{Version: "1.1.0", Commit: "0123456789abcdef", Go: "go1.26", Platform: "linux/arm64"},
		ControlPlane: []ReplicaVersion{{Pod: "anymesh-x", Info: build.Info{Version: "1.0.0"}}},
		Sidecars: SidecarVersions([]corev1.Pod{
			podWith(corev1.PodRunning, "localhost:5000/envoy:1.0.0", agent...),
			podWith(corev1.PodRunning, "localhost:5000/envoy:1.0.0", agent...),
			podWith(corev1.PodRunning, "envoy:0.9.0", agent...),
			podWith(corev1.PodRunning, "envoy:0.8.0", "envoy"),
			podWith(corev1.PodSucceeded, "envoy:0.7.0", agent...),
		}),
	}
	var out strings.Builder
	if err := v.Table(&out, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	const want = `PART           VERSION  COMMIT        DETAILS
client         1.1.0    0123456789ab  linux/arm64, go1.26
control plane  1.0.0    -             anymesh-x
sidecars       0.9.0    -             1 pod of envoy:0.9.0
sidecars       1.0.0    -             2 pods of localhost:5000/envoy:1.0.0
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTag(t *testing.T) {
	for image, want := range map[string]string{
		"envoy":                     "latest",
		"localhost:5000/envoy":      "latest",
		"localhost:5000/envoy:1.0":  "1.0",
		"example.com/a/b@sha256:ab": "sha256:ab",
		"a/b:1@sha256:ab":           "1",
	} {
		if got := tag(image); got != want {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
}
