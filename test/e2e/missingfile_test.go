package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// missingFile lets vault serve a certificate of a file that its running pod does not have. It
// keeps what it had, and status, check and proxy status name pod and path. With the file of before, all is well again.
func missingFile(t *testing.T) {
	const key = "/spec/listeners/0/tls/certificate/file/certificateChain"
	nodes := appMesh(t, "virtualnodes", "colors")
	name := func(path string) {
		t.Helper()
		patch := fmt.Sprintf(`[{"op":"replace","path":%q,"value":%q}]`, key, path)
		if _, err := nodes.Patch(contextOf(t), "vault", types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	name("/tls/later.crt")
	t.Cleanup(func() { name("/tls/tls.crt") })
	for verb, code := range map[string]int{"check": 1, "proxy status": 1} {
		eventually(t, 20*time.Second, verb+" names the pod and the path", func() error {
			out, got := runVerb(t, strings.Fields(verb)...)
			if got != code || !strings.Contains(out, "colors/vault-") || !strings.Contains(out, "/tls/later.crt") {
				return fmt.Errorf("exit code %d: %s", got, out)
			}
			return nil
		})
	}
	eventually(t, 20*time.Second, "the status of the VirtualNode names them", func() error {
		got := run(t, "-n", "colors", "get", "virtualnode", "vault", "-o", "jsonpath={.status.conditions}")
		if !strings.Contains(got, "RejectedBySidecar") || !strings.Contains(got, "/tls/later.crt") {
			return fmt.Errorf("conditions: %s", got)
		}
		return nil
	})
	if counts := callsFrom(t, "front", vaultURL, 100); counts["vault"] != 100 {
		t.Errorf("calls without the file: %v", counts)
	}
	name("/tls/tls.crt")
	eventually(t, 20*time.Second, "nothing is rejected any more", func() error {
		if out, code := runVerb(t, "proxy", "status"); code != 0 {
			return fmt.Errorf("exit code %d: %s", code, out)
		}
		return nil
	})
}
