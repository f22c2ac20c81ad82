package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// testUnprotected checks the client left and the server strict, which require TLS that their driver does not support.
func testUnprotected(t *testing.T, class string) {
	for node, text := range map[string]string{
		"strict": "the listener on port 8080 requires TLS, and accepts no connections",
		"left":   "the client policy for strict_drivers_http_8080 requires TLS, and requests get status 503",
	} {
		eventually(t, 10*time.Second, "error of "+node, func() error {
			got := run(t, "-n", "drivers", "get", "virtualnode", node, "-o",
				"jsonpath={.status.conditions[0].status} {.status.conditions[0].reason} {.status.conditions[0].message}")
			if !strings.HasPrefix(got, "False NotSupportedByDriver") || !strings.Contains(got, text) {
				return fmt.Errorf("condition: %s", got)
			}
			return nil
		})
	}
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: drivers, labels: {app: strict}, annotations: {anymesh.dev/sidecarClass: ` + class + `}},
		spec: {containers: [{name: app, image: anymesh.dev/colors}]}}`
	_, err := kubectlInput(t.Context(), pod, "create", "--dry-run=server", "--warnings-as-errors", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "accepts no connections") {
		t.Errorf("no warning about the pod: %v", err)
	}
	o, err := callFromIn(t.Context(), "drivers", "left", "http://strict.drivers.svc.cluster.local:8080/")
	if err := want(o, err, o.Status == 503, "503"); err != nil {
		t.Error(err)
	}
	name := run(t, "-n", "drivers", "get", "pods", "-l", "app=strict", "-o", "jsonpath={.items[0].metadata.name}")
	answer, err := lab.kube.CoreV1().RESTClient().Get().Namespace("drivers").Resource("pods").Name(name + ":8080").
		SubResource("proxy").DoRaw(t.Context())
	if err == nil || strings.Contains(string(answer), "strict") {
		t.Errorf("the listener answers a request without TLS: %s", answer)
	}
}
