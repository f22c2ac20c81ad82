package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const podManifest = `
apiVersion: v1
kind: Pod
metadata: {namespace: %s, name: %s, labels: {app: %s}}
spec:
  %s
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: anymesh.dev/colors, args: [serve]}]
`

func containersOf(t *testing.T, pod string) []string {
	t.Helper()
	var p corev1.Pod
	if err := json.Unmarshal([]byte(pod), &p); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
		names = append(names, c.Name)
	}
	return names
}

// TestDryRunWritesNothing checks that a dry run returns the injected pod and writes nothing.
func TestDryRunWritesNothing(t *testing.T) {
	everything := func() string {
		return run(t, "get", "configmaps,secrets,serviceaccounts,pods,services,leases", "-n", "colors", "-o", "name") +
			run(t, "get", "secrets,configmaps", "-n", "anymesh-system", "-o", "name")
	}
	eventually(t, time.Minute, "pods of earlier tests are gone", func() error {
		ending := run(t, "get", "pods", "-n", "colors", "-o", "jsonpath={.items[*].metadata.deletionTimestamp}")
		if ending != "" {
			return fmt.Errorf("deleted at %s", ending)
		}
		return nil
	})
	before := everything()
	out, err := kubectlInput(t.Context(), fmt.Sprintf(podManifest, "colors", "dry", "tally", ""), "create",
		"--dry-run=server", "-o", "json", "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := containersOf(t, out), []string{"proxyinit", "envoy", "app"}; !slices.Equal(got, want) {
		t.Errorf("containers of the dry-run pod: %v, want %v", got, want)
	}
	if after := everything(); after != before {
		t.Errorf("the dry run changed the cluster:\n%s\nbefore:\n%s", after, before)
	}
}

// TestPodWithoutUniqueVirtualNodeIsRejected compares the error messages with those of the App Mesh controller.
func TestPodWithoutUniqueVirtualNodeIsRejected(t *testing.T) {
	_, err := kubectlInput(t.Context(), fmt.Sprintf(podManifest, "colors", "stray", "nothing", ""), "create", "-f", "-")
	if err == nil ||
		!strings.Contains(err.Error(), "sidecarInject enabled but no matching VirtualNode or VirtualGateway found") {
		t.Errorf("pod that no VirtualNode selects: %v", err)
	}
	apply(t, `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: tally-too}
spec: {podSelector: {matchLabels: {app: tally}}}
`)
	_, err = kubectlInput(t.Context(), fmt.Sprintf(podManifest, "colors", "torn", "tally", ""), "create", "-f", "-")
	if err == nil ||
		!strings.Contains(err.Error(), "found multiple matching VirtualNodes for pod colors/torn: tally,tally-too") {
		t.Errorf("pod that two VirtualNodes select: %v", err)
	}
}

// TestPodsWithoutInjection checks that pods in the host network, in unlabeled namespaces and in the namespace of the
// control plane get no sidecar.
func TestPodsWithoutInjection(t *testing.T) {
	for name, manifest := range map[string]string{
		"hostNetwork":             fmt.Sprintf(podManifest, "colors", "host", "tally", "hostNetwork: true"),
		"another namespace":       fmt.Sprintf(podManifest, "default", "elsewhere", "tally", ""),
		"control plane namespace": fmt.Sprintf(podManifest, "anymesh-system", "own", "tally", ""),
	} {
		t.Run(name, func(t *testing.T) {
			out, err := kubectlInput(t.Context(), manifest, "create", "--dry-run=server", "-o", "json", "-f", "-")
			if err != nil {
				t.Fatal(err)
			}
			if got := containersOf(t, out); !slices.Equal(got, []string{"app"}) {
				t.Errorf("containers %v", got)
			}
		})
	}
	// kubectl prints warnings to its standard error, and --warnings-as-errors makes its exit code 1.
	_, err := kubectlInput(t.Context(), fmt.Sprintf(podManifest, "colors", "host", "tally", "hostNetwork: true"),
		"create", "--dry-run=server", "--warnings-as-errors", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "Warning: bypass of the mesh: spec.hostNetwork is true") {
		t.Errorf("kubectl prints no warning: %v", err)
	}
}

// TestInvalidRegexIsRejected checks creation and update. The error names the path of the field. References to missing
// objects are accepted.
func TestInvalidRegexIsRejected(t *testing.T) {
	router := func(match, node string) string {
		return fmt.Sprintf(`
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {namespace: colors, name: refused}
spec:
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  routes:
    - name: r
      httpRoute:
        match: {%s}
        action: {weightedTargets: [{virtualNodeRef: {name: %s}, weight: 1}]}
`, match, node)
	}
	const bad, want = `path: {regex: "/(unclosed"}`, "spec.routes[0].httpRoute.match.path.regex: not an RE2 regular expression"
	if _, err := kubectlInput(t.Context(), router(bad, "color-red"), "create", "-f", "-"); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("create: got error %v, want %s", err, want)
	}
	apply(t, router("prefix: /", "nobody"))
	if _, err := kubectlInput(t.Context(), router(bad, "nobody"), "apply", "-f", "-"); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("update: got error %v, want %s", err, want)
	}
}

// TestReviewsOfAPIServerAreKnown checks that the control plane knows the API server by its address, and gives its
// reviews the limits of API servers. A pod that is created before its VirtualNode waits for it.
func TestReviewsOfAPIServerAreKnown(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {namespace: colors, name: early, labels: {app: early}},
		spec: {containers: [{name: app, image: anymesh.dev/colors}]}}`
	created := make(chan error, 1)
	go func() {
		_, err := kubectlInput(t.Context(), pod, "create", "--dry-run=server", "-o", "name", "-f", "-")
		created <- err
	}()
	apply(t, `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: early}
spec: {podSelector: {matchLabels: {app: early}}}
`)
	if err := <-created; err != nil {
		t.Errorf("a pod that is created with its VirtualNode: %v", err)
	}
	name := run(t, "-n", "anymesh-system", "get", "pods", "-l", "app.kubernetes.io/name=anymesh", "-o", "jsonpath={.items[0].metadata.name}")
	metrics, err := lab.kube.CoreV1().RESTClient().Get().Namespace("anymesh-system").Resource("pods").Name(name + ":9090").
		SubResource("proxy").Suffix("metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(metrics)) {
		if sender, ok := strings.CutPrefix(line, "anymesh_webhook_requests_total{sender="); ok {
			if known, zero := strings.HasPrefix(sender, `"api_server"`), strings.HasSuffix(line, " 0\n"); known == zero {
				t.Errorf("got %s", line)
			}
		}
	}
}
