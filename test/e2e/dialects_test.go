package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dialectsManifests put namespace parcels into the mesh of the second dialect by its label. Its VirtualService kind
// has the same name as that of App Mesh. receiver gets its port from the Helm value; its pod has the readiness gate
// of the former controller.
const dialectsManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: parcels, labels: {parcel.example.com/member: "yes"}}}
---
{apiVersion: parcel.example.com/v1, kind: VirtualService, metadata: {name: sender, namespace: parcels}, spec: {app: sender, port: 8080}}
---
{apiVersion: parcel.example.com/v1, kind: VirtualService, metadata: {name: receiver, namespace: parcels}, spec: {app: receiver}}
---
{apiVersion: v1, kind: Service, metadata: {name: sender, namespace: parcels}, spec: {selector: {app: sender}, ports: [{port: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: receiver, namespace: parcels}, spec: {selector: {app: receiver}, ports: [{port: 9090}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: sender, namespace: parcels}
spec:
  selector: {matchLabels: {app: sender}}
  template:
    metadata: {labels: {app: sender}}
    spec:
      containers: [{name: app, image: anymesh.dev/colors, args: [drive, --listen=:8080, --rate=0], readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: receiver, namespace: parcels}
spec:
  selector: {matchLabels: {app: receiver}}
  template:
    metadata: {labels: {app: receiver}}
    spec:
      readinessGates: [{conditionType: parcel.example.com/registered}]
      containers: [{name: app, image: anymesh.dev/colors, args: [serve, --listen=:9090, --version=received], readinessProbe: {httpGet: {path: /healthz, port: 9090}, periodSeconds: 1}}]
`

const parcelKind = "virtualservices.parcel.example.com"

// testTwoDialects runs objects of two dialects in one cluster.
func testTwoDialects(t *testing.T) {
	apply(t, dialectsManifests)
	waitReady(t, "parcels", "deployment/sender")
	t.Run("admission", func(t *testing.T) {
		got := run(t, "-n", "parcels", "get", parcelKind, "receiver", "-o", "jsonpath={.spec.port} {.spec.host}")
		if got != "9090 receiver.parcels.svc.cluster.local" {
			t.Errorf("defaults: %s", got)
		}
		_, err := kubectl(t.Context(), "-n", "parcels", "patch", parcelKind, "receiver", "--type=merge", "-p",
			`{"spec":{"app":"other"}}`)
		if err == nil || !strings.Contains(err.Error(), "spec.app cannot change") {
			t.Errorf("validation: %v", err)
		}
	})
	t.Run("readiness gate", func(t *testing.T) {
		waitReady(t, "parcels", "deployment/receiver")
		got := run(t, "-n", "parcels", "get", "pods", "-l", "app=receiver", "-o",
			`jsonpath={.items[*].status.conditions[?(@.type=="parcel.example.com/registered")].message}`)
		if got != "the depot controller is not used" {
			t.Errorf("message %q", got)
		}
	})
	t.Run("traffic", func(t *testing.T) {
		eventually(t, 10*time.Second, "request to receiver", func() error {
			o, err := callFromIn(t.Context(), "parcels", "sender", "http://receiver.parcels.svc.cluster.local:9090/")
			return want(o, err, o.Version == "received", "received")
		})
		o, err := callFrom(t.Context(), "front", colorURL)
		if err := want(o, err, o.Status == 200, "status 200 in the App Mesh mesh"); err != nil {
			t.Error(err)
		}
		if got := extendedOutput(t, "proxy", "status"); !hasLine(got, "parcels/receiver-", "parcel/parcels/receiver") {
			t.Errorf("proxy status:\n%s", got)
		}
	})
	t.Run("status", func(t *testing.T) {
		eventually(t, 10*time.Second, "condition", func() error {
			got := run(t, "-n", "parcels", "get", parcelKind, "receiver", "-o",
				"jsonpath={.status.conditions[0].type} {.status.conditions[0].status}")
			if got != "Served True" {
				return fmt.Errorf("condition %q", got)
			}
			return nil
		})
		got := extendedOutput(t, "describe", "virtualservice.parcel.example.com/receiver", "-n", "parcels")
		if !strings.Contains(got, "VirtualService.parcel.example.com parcels/receiver, workload receiver_parcels of mesh parcel") {
			t.Errorf("describe:\n%s", got)
		}
	})
	t.Run("finalizer", func(t *testing.T) {
		old := `{apiVersion: parcel.example.com/v1, kind: VirtualService, metadata: {name: old, namespace: parcels, finalizers: [parcel.example.com/depot]}, spec: {app: old}}`
		if _, err := kubectlInput(t.Context(), old, "create", "-f", "-"); err != nil {
			t.Fatal(err)
		}
		run(t, "-n", "parcels", "delete", parcelKind, "old", "--timeout=180s")
	})
	t.Run("lint", lintTwoDialects)
	t.Run("check", func(t *testing.T) {
		// The control plane was replaced: its sidecars reconnect within 10 s, and check fails until they have.
		eventually(t, 15*time.Second, "all checks pass", func() error {
			out, err := command(t.Context(), "", extendedProgram(), "check", "--kubeconfig", lab.kubeconfig)
			if err != nil || !hasLine(out, "a namespace is a member of Parcel", "members: 1") {
				return fmt.Errorf("%w\n%s", err, out)
			}
			return nil
		})
	})
	t.Run("pod claimed by both dialects", podClaimedByTwoDialects)
}

// lintTwoDialects lints objects of two dialects whose kinds have the same name.
func lintTwoDialects(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"parcel.yaml": `{apiVersion: parcel.example.com/v1, kind: VirtualService, metadata: {name: lost, namespace: nowhere}, spec: {app: lost}}`,
		"appmesh.yaml": `{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: lost, namespace: nowhere},
			spec: {provider: {virtualNode: {virtualNodeRef: {name: nobody}}}}}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := command(t.Context(), "", extendedProgram(), "lint", "-f", folder)
	if err == nil || !hasLine(out, "VirtualService.parcel.example.com nowhere/lost", "has no label parcel.example.com/member: yes") ||
		!strings.Contains(out, "appmesh.yaml") {
		t.Errorf("%v\n%s", err, out)
	}
}

// podClaimedByTwoDialects creates a namespace in the meshes of both dialects, and a pod that workloads of both
// select.
func podClaimedByTwoDialects(t *testing.T) {
	apply(t, `
{apiVersion: v1, kind: Namespace, metadata: {name: both, labels: {mesh: colors, appmesh.k8s.aws/sidecarInjectorWebhook: enabled, parcel.example.com/member: "yes"}}}
---
{apiVersion: parcel.example.com/v1, kind: VirtualService, metadata: {name: two, namespace: both}, spec: {app: both}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: one, namespace: both}, spec: {podSelector: {matchLabels: {app: both}}}}
`)
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: both, labels: {app: both}}, spec: {containers: [{name: app, image: anymesh.dev/colors}]}}`
	_, err := kubectlInput(t.Context(), pod, "create", "--dry-run=server", "-f", "-")
	if err == nil ||
		!strings.Contains(err.Error(), "VirtualNode both/one of App Mesh, VirtualService both/two of Parcel") {
		t.Errorf("got %v", err)
	}
}
