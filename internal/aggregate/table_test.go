package aggregate

import (
	"encoding/json"
	"fmt"
	"net/http"
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

// TestInitialEventsOfTablesEndWithATable guards kubectl get -w, which decodes each event of such a watch as a Table.
func TestInitialEventsOfTablesEndWithATable(t *testing.T) {
	l := newLab(t, 2)
	l.put(0, "p")
	l.put(1, "q")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+"/api/v1/pods?watch=true&sendInitialEvents="+
		"true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=5", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer jane")
	r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	events := json.NewDecoder(response.Body)
	for _, want := range []string{"ADDED", "ADDED", "BOOKMARK"} {
		var event struct {
			Type   string
			Object metav1.Table
		}
		if err := events.Decode(&event); err != nil {
			t.Fatal(err)
		}
		table := event.Object
		if event.Type != want || table.Kind != "Table" || table.APIVersion != "meta.k8s.io/v1" ||
			table.ResourceVersion == "" || len(table.Rows) != 1 {
			t.Fatalf("got %s %+v, want %s and a Table with a row", event.Type, table, want)
		}
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(table.Rows[0].Object.Raw, &object); err != nil {
			t.Fatal(err)
		}
		end := object.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		if end != (want == "BOOKMARK") || object.Kind != "PartialObjectMetadata" || object.ResourceVersion == "" {
			t.Errorf("the row of %s is of %+v", want, object)
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
