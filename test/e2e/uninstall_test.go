package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/cli/install"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

// leftGateway has a finalizer, also where no webhook adds it.
const leftGateway = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualGateway
metadata: {namespace: left, name: gateway, finalizers: [finalizers.appmesh.k8s.aws/virtualgateway-members]}
spec: {}
`

const leftNamespace = `
{apiVersion: v1, kind: Namespace, metadata: {name: left, labels: {mesh: colors}}}
---
`

// TestUninstallLeavesObjectsAndTraffic runs last because of its file name. Uninstall removes only the control plane:
// user objects stay, without finalizers, and sidecars continue to serve.
func TestUninstallLeavesObjectsAndTraffic(t *testing.T) {
	apply(t, leftNamespace+leftGateway)
	if got := finalizers(t); !strings.Contains(got, "mesh-members") || !strings.Contains(got, "virtualgateway-members") {
		t.Errorf("finalizers with a control plane: %s", got)
	}
	releaseWithoutControlPlane(t)
	if _, err := anymesh(t.Context(), "uninstall", "--kubeconfig", lab.kubeconfig); err != nil {
		t.Fatal(err)
	}
	if left := run(t, "-n", "anymesh-system", "get", "deployments,services,secrets", "-o", "name"); !strings.Contains(left,
		"secret/anymesh-ca") || strings.Contains(left, "deployment") || strings.Contains(left, "service") {
		t.Errorf("in the namespace: %s", left)
	}
	left := run(t, "get",
		"clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations", "-o", "name")
	if strings.Contains(left, "anymesh") {
		t.Errorf("remaining objects: %s", left)
	}
	if got := finalizers(t); strings.TrimSpace(got) != "" {
		t.Errorf("remaining finalizers: %s", got)
	}
	if nodes := run(t, "-n", "colors", "get", "virtualnodes.appmesh.k8s.aws", "-o",
		"name"); strings.Count(nodes, "\n") != 5 {
		t.Errorf("VirtualNodes: %s", nodes)
	}
	if counts := callsFrom(t, "front", colorURL, 200); counts["red"]+counts["blue"] != 200 {
		t.Errorf("calls without a control plane: %v", counts)
	}
	t.Run("Helm", releaseByHook)
	if err := installAnymesh(t.Context()); err != nil {
		t.Errorf("installing again: %v", err)
	}
	if counts := callsFrom(t, "front", colorURL, 200); counts["red"]+counts["blue"] != 200 {
		t.Errorf("calls with the new control plane: %v", counts)
	}
	eventually(t, 15*time.Second, "existing objects have their finalizers again", func() error {
		if got := finalizers(t); !strings.Contains(got, "mesh-members") {
			return fmt.Errorf("finalizers: %q", got)
		}
		return nil
	})
	eventually(t, 60*time.Second, "sidecars that were not restarted are connected", func() error {
		if out := checkOutput(t); !strings.Contains(out, "✓ sidecars are connected") {
			return errors.New(out)
		}
		return nil
	})
	t.Run("wrong image", installWrongImage)
	t.Run("another authority", func(t *testing.T) {
		onlyLong(t)
		replaceAuthority(t)
	})
}

// installWrongImage upgrades to an image that does not exist. The old replica serves on, and install and check tell
// what the new one waits for. The next installation keeps values besides the image. Values that would fail change
// nothing.
func installWrongImage(t *testing.T) {
	upgrade := func(sets ...string) (string, error) {
		return anymesh(t.Context(), append([]string{
			"install", "--kubeconfig", lab.kubeconfig, "--timeout", "15s", "--skip-crds",
		}, sets...)...)
	}
	if out, err := upgrade("--set", "image=nowhere/x:1"); err == nil || !strings.Contains(err.Error(), "0 of 1 replicas are ready") ||
		!strings.Contains(err.Error(), ", container controller: ") {
		t.Errorf("installing an image that does not exist: %s, %v", out, err)
	}
	if out := checkOutput(t); !strings.Contains(out, "0 of 1 replicas are ready with image nowhere/x:1") {
		t.Errorf("check: %s", out)
	}
	if out, err := upgrade("--set", "rootLifetime=1h"); err == nil || !strings.Contains(err.Error(), "rootLifetime: root lifetime 1h") {
		t.Errorf("installing with a value that the control plane refuses: %s, %v", out, err)
	}
	if out, err := upgrade("--set", "podMonitor.enabled=true"); err == nil ||
		!strings.Contains(err.Error(), "does not have the kind PodMonitor") {
		t.Errorf("installing without the kind PodMonitor: %s, %v", out, err)
	}
	// Both replicas run on the only node.
	out, err := upgrade("--set", "image=anymesh.dev/anymesh:0.1.0", "--set", "replicas=2")
	if err != nil || !strings.Contains(out, "changed value image=") || !strings.Contains(out, "kept value appmesh.acm.certificates.") {
		t.Errorf("installing the image again: %s, %v", out, err)
	}
}

// replaceAuthority installs Anymesh with a new authority. The check and the agents say what to do.
func replaceAuthority(t *testing.T) {
	if out, err := anymesh(t.Context(), "uninstall", "--kubeconfig", lab.kubeconfig, "--delete-crds"); err == nil ||
		!strings.Contains(err.Error(), "--yes") {
		t.Errorf("--delete-crds without --yes: %s, %v", out, err)
	}
	apply(t, agedGateway)
	waitReady(t, "colors", "deployment/aged")
	if _, err := anymesh(t.Context(), "uninstall", "--kubeconfig", lab.kubeconfig, "--delete-authority"); err != nil {
		t.Fatal(err)
	}
	if out, err := kubectl(t.Context(), "get", "namespace", "anymesh-system"); err == nil {
		t.Errorf("the namespace still exists: %s", out)
	}
	out, err := command(t.Context(), "", "sh", "-c", `exec "$0" install --kubeconfig "$1" --set replicas=1 2>&1`,
		filepath.Join(lab.bin, "anymesh"), lab.kubeconfig)
	if err != nil || !hasLine(out, "warning: ", "pods trust the authority of an earlier installation", "colors/aged-") {
		t.Errorf("install: %v, %s", err, out)
	}
	if out := checkOutput(t); !hasLine(out, "another authority: restart these workloads", "colors/aged-") {
		t.Errorf("check: %s", out)
	}
	for _, deployment := range []string{"front", "aged"} {
		eventually(t, 30*time.Second, "the agent tells why it cannot connect", func() error {
			if out := run(t, "-n", "colors", "logs", "deployment/"+deployment, "-c", "envoy",
				"--tail=20"); !strings.Contains(out, "has another authority than this pod trusts") {
				return errors.New(out)
			}
			return nil
		})
	}
}

// agedGateway is a gateway that was started before the authority is replaced.
const agedGateway = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualGateway
metadata: {namespace: colors, name: aged}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: colors}}
  gatewayRouteSelector: {matchLabels: {gateway: aged}}
  podSelector: {matchLabels: {app: aged}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: aged}
spec:
  selector: {matchLabels: {app: aged}}
  template:
    metadata: {labels: {app: aged}}
    spec:
      containers: [{name: envoy, image: anymesh.dev/envoy, ports: [{containerPort: 8080}]}]
`

// checkOutput is the output of anymesh check, whatever its exit code.
func checkOutput(t *testing.T) string {
	t.Helper()
	out, err := anymesh(t.Context(), "check", "--kubeconfig", lab.kubeconfig)
	if err != nil {
		out += err.Error()
	}
	return out
}

// finalizers lists the finalizers of all Meshes and VirtualGateways.
func finalizers(t *testing.T) string {
	t.Helper()
	return run(t, "get", "meshes.appmesh.k8s.aws,virtualgateways.appmesh.k8s.aws", "--all-namespaces", "-o",
		"jsonpath={.items[*].metadata.finalizers[*]}")
}

// releaseWithoutControlPlane stops the control plane. Its webhooks stay, and the command of docs/appmesh.md still
// releases an object that is being deleted.
func releaseWithoutControlPlane(t *testing.T) {
	t.Helper()
	run(t, "-n", "anymesh-system", "scale", "deployment", "anymesh", "--replicas=0")
	run(t, "-n", "anymesh-system", "wait", "--for=delete", "pod", "-l", "app.kubernetes.io/name=anymesh",
		"--timeout=180s")
	run(t, "delete", "namespace", "left", "--wait=false")
	eventually(t, 15*time.Second, "the gateway is being deleted", func() error {
		if run(t, "-n", "left", "get", "virtualgateways.appmesh.k8s.aws", "gateway", "-o",
			"jsonpath={.metadata.deletionTimestamp}") == "" {
			return errors.New("no deletionTimestamp")
		}
		return nil
	})
	run(t, "-n", "left", "patch", "virtualgateways.appmesh.k8s.aws", "gateway", "--type=merge", "-p",
		`{"metadata":{"finalizers":null}}`)
	run(t, "-n", "left", "wait", "--for=delete", "virtualgateways.appmesh.k8s.aws/gateway", "--timeout=180s")
}

// releaseByHook runs what Helm runs after it deleted the control plane.
func releaseByHook(t *testing.T) {
	const namespace = "released"
	hooks, err := install.Hooks(install.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := install.YAML(hooks)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, strings.ReplaceAll(leftNamespace+leftGateway, "left", namespace))
	run(t, "-n", namespace, "delete", "virtualgateways.appmesh.k8s.aws", "gateway", "--wait=false")
	apply(t, string(manifests))
	run(t, "-n", namespace, "wait", "--for=condition=Complete", "job/anymesh-release-finalizers", "--timeout=180s")
	run(t, "-n", namespace, "wait", "--for=delete", "virtualgateways.appmesh.k8s.aws/gateway", "--timeout=180s")
}
