package inject

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/internal/pod/capture"
	"anymesh.dev/anymesh/model"
)

// memberCluster is a cluster in which the dialect selects the workload, by the ServiceAccount default.
type memberCluster struct{ fakeCluster }

func (c memberCluster) SelectWorkload(d dialect.Injection, pod *corev1.Pod) (model.Workload, bool, error) {
	ns, _ := c.Namespace("a")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "default"}}
	key, found, err := d.SelectWorkload([]client.Object{ns, account}, pod, "a")
	return model.Workload{Key: key, Role: model.RoleSidecar}, found, err
}

func newMemberWebhook(labels, annotations map[string]string) *Webhook {
	w := newWebhook(fakeCluster{})
	w.Cluster = memberCluster{fakeCluster{labels: labels, annotations: annotations}}
	w.Dialects = []dialect.Injection{osm.Dialect{}}
	return w
}

// answer is sidecar, none, or denied with the message.
func answer(t *testing.T, raw []byte, response admission.Response) string {
	t.Helper()
	if !response.Allowed {
		return "denied: " + response.Result.Message
	}
	var pod corev1.Pod
	if err := json.Unmarshal(admitted(t, raw, response), &pod); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == captureContainer }) {
		return "sidecar"
	}
	return "none"
}

// Label and annotation of the namespace and annotation of the pod decide who gets a sidecar; a value that is neither
// yes nor no refuses the pod.
func TestWhoGetsASidecar(t *testing.T) {
	monitored := map[string]string{"openservicemesh.io/monitored-by": "osm"}
	ignored := map[string]string{"openservicemesh.io/monitored-by": "osm", "openservicemesh.io/ignore": "true"}
	foreign := map[string]string{"openservicemesh.io/monitored-by": "other-mesh"}
	const by = "openservicemesh.io/sidecar-injection"
	auto := map[string]string{by: "enabled"}
	for _, c := range []struct {
		name                string
		labels, annotations map[string]string // of the namespace
		pod, want           string
	}{
		{"auto/plain", monitored, auto, "metadata: {name: p}", "sidecar"},
		{"auto/upper", monitored, auto, "metadata: {name: p, annotations: {" + by + ": ENABLED}}", "sidecar"},
		{"auto/off", monitored, auto, "metadata: {name: p, annotations: {" + by + ": disabled}}", "none"},
		{"auto/no", monitored, auto, "metadata: {name: p, annotations: {" + by + ": 'No'}}", "none"},
		{"auto/node", monitored, auto, "metadata: {name: p}\nhostNetwork", "none"},
		{"auto/typo", monitored, auto, "metadata: {name: p, annotations: {" + by + ": enable}}",
			"denied: annotation " + by + `: "enable" is neither enabled nor disabled`},
		{"auto/label", monitored, auto, "metadata: {name: p, labels: {" + by + ": disabled}}", "sidecar"},
		{"manual/plain", monitored, nil, "metadata: {name: p}", "none"},
		{"manual/on", monitored, nil, "metadata: {name: p, annotations: {" + by + ": 'yes'}}", "sidecar"},
		{"ignored/on", ignored, auto, "metadata: {name: p, annotations: {" + by + ": enabled}}", "none"},
		{"foreign/on", foreign, auto, "metadata: {name: p, annotations: {" + by + ": enabled}}", "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newMemberWebhook(c.labels, c.annotations)
			meta, host := strings.CutSuffix(c.pod, "\nhostNetwork")
			raw := asJSON(t, fmt.Sprintf(
				"apiVersion: v1\nkind: Pod\n%s\nspec: {hostNetwork: %t, containers: [{name: app, image: 'app:1'}]}", meta, host))
			if got := answer(t, raw, w.Handle(t.Context(), request(raw))); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The packet rules of a pod have the exclusions of its annotations and of MeshConfig, once each.
func TestPacketRulesOfAMember(t *testing.T) {
	pod, _ := injectMember(t, meshConfig(t,
		"{traffic: {outboundPortExclusionList: [50005, 8201, 6379], outboundIPRangeExclusionList: [10.0.0.1/32]}}"))
	env := map[string]string{}
	for _, c := range pod.Spec.InitContainers {
		if c.Name == captureContainer {
			for _, e := range c.Env {
				env[e.Name] = e.Value
			}
		}
	}
	c, err := capture.FromEnv(func(name string) (string, bool) { value, has := env[name]; return value, has })
	if err != nil {
		t.Fatal(err)
	}
	text := c.Rules().String()
	for _, want := range []string{
		"set ignored_ports {\n\t\ttype inet_service; elements = { 80, 6379, 8201, 50005 }",
		"elements = { 10.0.0.1/32 }",
		"elements = { 3500, 15020 }",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A value that is no port refuses the pod, with the annotation.
func TestExclusionThatIsNoPort(t *testing.T) {
	w := newMemberWebhook(map[string]string{"openservicemesh.io/monitored-by": "osm"},
		map[string]string{"openservicemesh.io/sidecar-injection": "enabled"})
	const name = "openservicemesh.io/outbound-port-exclusion-list"
	response := w.Handle(t.Context(), request(asJSON(t, strings.Replace(memberPod, `"80, 50005"`, `"6379,redis"`, 1))))
	text := response.Result.Message
	if response.Allowed || !strings.Contains(text, name) || !strings.Contains(text, "redis") {
		t.Errorf("allowed %v: %s", response.Allowed, text)
	}
}
