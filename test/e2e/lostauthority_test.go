package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// startWithoutAuthority loses the Secret of the authority while no control plane runs. Control planes that start then
// make no new one, since running sidecars would not trust it. They say what to do, and that helps.
func startWithoutAuthority(t *testing.T) {
	t.Helper()
	const remedy = "restore the Secret from a backup, or make a new authority with anymesh identity replace --yes"
	run(t, "-n", "anymesh-system", "scale", "deployment/anymesh", "--replicas=0")
	run(t, "-n", "anymesh-system", "wait", "--for=delete", "pod", "-l", "app.kubernetes.io/name=anymesh", "--timeout=180s")
	run(t, "-n", "anymesh-system", "delete", "secret", "anymesh-ca")
	run(t, "-n", "anymesh-system", "scale", "deployment/anymesh", "--replicas=2")
	eventually(t, 30*time.Second, "the log and the check name the remedy", func() error {
		log, err := kubectl(t.Context(), "-n", "anymesh-system", "logs", "-l", "app.kubernetes.io/name=anymesh", "--tail=-1")
		if err != nil || !strings.Contains(log, remedy) {
			return fmt.Errorf("log %s, %w", log, err)
		}
		if out, code := runVerb(t, "check"); code != 1 || !strings.Contains(out, remedy) {
			return fmt.Errorf("check: exit code %d: %s", code, out)
		}
		return nil
	})
	if ready := run(t, "-n", "anymesh-system", "get", "deployment", "anymesh", "-o", "jsonpath={.status.readyReplicas}"); ready != "" {
		t.Errorf("%s control planes are ready without an authority", ready)
	}
	if left := run(t, "-n", "anymesh-system", "get", "secret", "anymesh-ca", "--ignore-not-found", "-o", "name"); left != "" {
		t.Errorf("the control plane has made a new authority: %s", left)
	}
	if out, code := runVerb(t, "identity", "replace", "--yes"); code != 0 {
		t.Fatal(out)
	}
	awaitPhase(t, "Steady", 1)
	run(t, "-n", "anymesh-system", "rollout", "status", "deployment/anymesh", "--timeout=180s")
	startPod(t, "remedied")
}
