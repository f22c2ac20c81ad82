package e2e

import (
	"strings"
	"testing"
)

// TestUninstallLeavesObjectsAndTraffic runs last because of its file name. Uninstall removes only the control plane:
// user objects stay, and sidecars continue to serve.
func TestUninstallLeavesObjectsAndTraffic(t *testing.T) {
	if _, err := anymesh(t.Context(), "uninstall", "--kubeconfig", lab.kubeconfig); err != nil {
		t.Fatal(err)
	}
	if out, err := kubectl(t.Context(), "get", "namespace", "anymesh-system"); err == nil {
		t.Errorf("the namespace still exists: %s", out)
	}
	left := run(t, "get",
		"clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations", "-o", "name")
	if strings.Contains(left, "anymesh") {
		t.Errorf("remaining objects: %s", left)
	}
	if nodes := run(t, "-n", "colors", "get", "virtualnodes.appmesh.k8s.aws", "-o",
		"name"); strings.Count(nodes, "\n") != 5 {
		t.Errorf("VirtualNodes: %s", nodes)
	}
	if counts := callsFrom(t, "front", colorURL, 200); counts["red"]+counts["blue"] != 200 {
		t.Errorf("calls without a control plane: %v", counts)
	}
	if _, err := anymesh(t.Context(), "install", "--kubeconfig", lab.kubeconfig); err != nil {
		t.Errorf("installing again: %v", err)
	}
	if counts := callsFrom(t, "front", colorURL, 200); counts["red"]+counts["blue"] != 200 {
		t.Errorf("calls with the new control plane: %v", counts)
	}
}
