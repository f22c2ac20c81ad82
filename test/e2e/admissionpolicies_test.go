package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ofControlPlane is the user of the control plane.
const ofControlPlane = "system:serviceaccount:anymesh-system:anymesh"

// TestStolenTokenOfTheControlPlane does what the permissions of the control plane allow, but its admission policies
// refuse, and what it needs. Everything is a dry run of the API server. It runs before the tests that enable the Route
// trait, with which the control plane may do more.
func TestStolenTokenOfTheControlPlane(t *testing.T) {
	const created = "{apiVersion: v1, kind: Secret, metadata: {namespace: anymesh-system, name: NAME, annotations: " +
		"{kubernetes.io/service-account.name: default}}, type: TYPE}"
	secret := func(name, kind string) string {
		return strings.NewReplacer("NAME", name, "TYPE", kind).Replace(created)
	}
	webhooks := []string{"patch", "mutatingwebhookconfiguration", "anymesh", "--type=json", "-p"}
	validating := []string{"patch", "validatingwebhookconfiguration", "anymesh", "--type=json", "-p"}
	node := []string{"-n", "colors", "patch", "virtualnode", "front", "--type=merge", "-p"}
	for what, c := range map[string]struct {
		args  []string
		input string
		// refused is in the answer; empty if the control plane needs this.
		refused string
	}{
		"rules of a webhook":        {append(webhooks, `[{"op":"replace","path":"/webhooks/0/rules/0/resources","value":["secrets"]}]`), "", "only caBundle of a webhook"},
		"address of a webhook":      {append(webhooks, `[{"op":"replace","path":"/webhooks/0/clientConfig/service/namespace","value":"x"}]`), "", "only caBundle of a webhook"},
		"policy of a webhook":       {append(validating, `[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`), "", "only caBundle of a webhook"},
		"removal of a webhook":      {append(validating, `[{"op":"remove","path":"/webhooks/0"}]`), "", "only caBundle of a webhook"},
		"labels of webhooks":        {append(validating, `[{"op":"add","path":"/metadata/labels/x","value":"y"}]`), "", "metadata of a webhook configuration"},
		"caBundle of a webhook":     {append(validating, `[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`), "", ""},
		"another Secret":            {[]string{"create", "-f", "-"}, secret("other", "Opaque"), "only these secrets in its namespace: anymesh-ca"},
		"a token as the authority":  {[]string{"create", "-f", "-"}, secret("anymesh-ca", "kubernetes.io/service-account-token"), "Opaque and kubernetes.io/tls only"},
		"the authority":             {[]string{"create", "-f", "-"}, secret("anymesh-ca", "Opaque"), "already exists"},
		"deletion of the authority": {[]string{"-n", "anymesh-system", "delete", "secret", "anymesh-ca"}, "", "cannot delete resource"},
		"another ConfigMap":         {[]string{"-n", "anymesh-system", "create", "configmap", "other"}, "", "only these configmaps"},
		"another Lease": {[]string{"create", "-f", "-"}, "{apiVersion: coordination.k8s.io/v1, kind: Lease, " +
			"metadata: {namespace: anymesh-system, name: other}}", "only these leases"},
		"spec of an object":        {append(node, `{"spec":{"listeners":null}}`), "", "only the finalizers of an object"},
		"annotations of an object": {append(node, `{"metadata":{"annotations":{"x":"y"}}}`), "", "only the finalizers of an object"},
		"finalizers of an object":  {append(node, `{"metadata":{"finalizers":["x.example/y"]}}`), "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			out, err := kubectlInput(t.Context(), c.input,
				append([]string{"--as=" + ofControlPlane, "--dry-run=server"}, c.args...)...)
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
				t.Errorf("answer %s%v, want %q", out, err, c.refused)
			}
		})
	}
}

// TestStolenTokenAndPods is the same for the status of pods, which the control plane may patch, but not read.
func TestStolenTokenAndPods(t *testing.T) {
	pod := run(t, "-n", "colors", "get", "pods", "-l", "app=front", "-o", "jsonpath={.items[0].metadata.name}")
	config := rest.CopyConfig(lab.config)
	config.Impersonate.UserName = ofControlPlane
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	const ours = `{"type":"conditions.appmesh.k8s.aws/aws-cloudmap-healthy","status":"False"}`
	for what, c := range map[string]struct{ patch, refused string }{
		"addresses":       {`{"status":{"podIP":"192.0.2.1","podIPs":[{"$patch":"replace"},{"ip":"192.0.2.1"}]}}`, "only conditions in the status"},
		"one address":     {`{"status":{"podIPs":[{"ip":"192.0.2.1"}]}}`, "only conditions in the status"},
		"phase":           {`{"status":{"phase":"Failed"}}`, "only conditions in the status"},
		"no address":      {`{"status":{"podIP":null,"podIPs":null}}`, "only conditions in the status"},
		"containers":      {`{"status":{"containerStatuses":[{"name":"app","ready":false}]}}`, "only conditions in the status"},
		"Ready":           {`{"status":{"conditions":[{"type":"Ready","status":"False"},` + ours + `]}}`, "only these conditions"},
		"a new condition": {`{"status":{"conditions":[{"type":"x/y","status":"True"}]}}`, "only these conditions"},
		"no condition":    {`{"status":{"conditions":null}}`, "only these conditions"},
		"labels":          {`{"metadata":{"labels":{"app":"color"}}}`, "metadata of a pod"},
		"finalizers":      {`{"metadata":{"finalizers":["x.example/y"]}}`, "metadata of a pod"},
		"readiness gate":  {`{"status":{"conditions":[` + ours + `]}}`, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, err := kube.CoreV1().Pods("colors").Patch(t.Context(), pod, types.StrategicMergePatchType, []byte(c.patch),
				metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
			if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("answer %v, want %q", err, c.refused)
			}
		})
	}
}
