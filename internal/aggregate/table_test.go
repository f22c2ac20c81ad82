package aggregate

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// largePod has two containers with much that is not printed.
func largePod() []byte {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	always := corev1.ContainerRestartPolicyAlways
	pod.Spec.InitContainers = []corev1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: &always}}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}}
	for _, name := range []string{"one", "two"} {
		c := corev1.Container{Name: name, Image: "registry.example.com/" + name}
		for i := range 20 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", i), Value: "value of it"})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: name == "one", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	started := true
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "setup", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		{Name: "proxy", Ready: true, Started: &started, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	}
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.0.0.1"
	pod.Status.Conditions = []corev1.PodCondition{{Type: "gate", Status: corev1.ConditionTrue}}
	text, err := json.Marshal(pod)
	if err != nil {
		panic(err) // A Pod can be encoded.
	}
	return text
}

func TestPodHasTheCellsOfItsParts(t *testing.T) {
	cells, err := podPrinter.cells(largePod())
	if got, want := fmt.Sprint(cells), "[p 2/3 Running 4 <unknown> 10.0.0.1 n1 <none> 1/1]"; got != want || err != nil {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	for _, text := range []string{`{"spec":{"containers":1}}`, `{"status":[]}`, `{`} {
		if _, err := podPrinter.cells([]byte(text)); err == nil {
			t.Errorf("%s has cells", text)
		}
	}
}

func BenchmarkPodCells(b *testing.B) {
	text := largePod()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := podPrinter.cells(text); err != nil {
			b.Fatal(err)
		}
	}
}
