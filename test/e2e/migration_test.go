package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// migrationCluster is a separate cluster in the state that the App Mesh controller leaves behind.
type migrationCluster struct {
	*testing.T
	name, kubeconfig string
	kube             *kubernetes.Clientset
	// path contains kubectl and anymesh for the commands of the page; dir is their working directory.
	path, dir string
}

const isReady = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`

// TestMigration runs the commands of docs/migration.md: it migrates a cluster of the App Mesh controller, checks
// traffic, deletes all objects in the worst order, and rolls back.
func TestMigration(t *testing.T) {
	m := newMigrationCluster(t)
	m.setUpOldController()
	steps, back := commandsOf(t, "migration", "Steps"), commandsOf(t, "migration", "Roll back")
	if out, err := m.kubectl("", "-n", "shop", "label", "virtualnode.appmesh.k8s.aws", "front", "a=b"); err == nil {
		t.Fatalf("the webhooks of the old controller do not block the request: %s", out)
	}
	if got := m.must("-n", "shop", "get", "pod", "injected-of-old", "-o", isReady); got == "True" {
		t.Fatal("the old pod is ready although its readiness gate is not set")
	}
	m.runCommands(steps)

	m.must("-n", "shop", "wait", "--for=condition=Ready", "pod/injected-of-old", "--timeout=180s")
	m.eventually("all objects are active and keep their ARNs", func() error {
		return m.checkAll("True arn:aws:appmesh:us-west-2:123456789012:")
	})
	m.eventually("both versions of cart respond", func() error {
		counts := map[string]int{}
		for range 20 {
			counts[m.call("http://cart.shop.svc.cluster.local:8080/")]++
		}
		if counts["v1"] == 0 || counts["v2"] == 0 || counts["v1"]+counts["v2"] != 20 {
			return fmt.Errorf("responses: %v", counts)
		}
		return nil
	})
	if pods := m.must("-n", "shop", "get", "pods", "-o",
		"jsonpath={.items[*].spec.initContainers[*].name}"); strings.Count(pods, "envoy") < 3 {
		t.Errorf("sidecars: %s", pods)
	}
	m.checkBackups()
	m.deleteInWorstOrder()
	m.runCommands(back)
	m.eventually("pods with sidecars have ended", func() error {
		pods := m.must("-n", "shop", "get", "pods", "-o", "jsonpath={.items[*].spec.initContainers[*].name}")
		if strings.Contains(pods, "envoy") {
			return fmt.Errorf("sidecars: %s", pods)
		}
		return nil
	})
}

// deleteInWorstOrder deletes the Mesh first, and referenced objects before the objects that refer to them. No deletion
// hangs, and the Mesh reports which objects it waits for.
func (m *migrationCluster) deleteInWorstOrder() {
	m.Helper()
	m.must("delete", "mesh.appmesh.k8s.aws", "shop", "--wait=false")
	m.eventually("the Mesh reports what it waits for", func() error {
		events := m.must("get", "events", "--all-namespaces", "--field-selector", "reason=PendingMembersDeletion", "-o",
			"jsonpath={.items[*].message}{.items[*].note}")
		if !strings.Contains(events, "VirtualNode shop/cart-v1") {
			return fmt.Errorf("events: %q", events)
		}
		return nil
	})
	m.must("-n", "shop", "delete", "--timeout=180s", "virtualnode.appmesh.k8s.aws", "cart-v1", "cart-v2")
	m.eventually("objects with missing references report it", func() error {
		got := m.must("-n", "shop", "get", "virtualrouter.appmesh.k8s.aws", "cart", "-o",
			"jsonpath={.status.conditions[0].reason}")
		if got != "ReferenceNotFound" {
			return fmt.Errorf("reason %q", got)
		}
		return nil
	})
	m.must("get", "mesh.appmesh.k8s.aws", "shop")
	m.must("-n", "shop", "delete", "--timeout=180s", "virtualrouter.appmesh.k8s.aws/cart",
		"virtualservice.appmesh.k8s.aws/cart", "virtualnode.appmesh.k8s.aws/front")
	m.must("wait", "--for=delete", "mesh.appmesh.k8s.aws/shop", "--timeout=180s")
}

// checkBackups checks the files that the first step of the page writes.
func (m *migrationCluster) checkBackups() {
	m.Helper()
	for file, part := range map[string]string{
		"appmesh-objects.yaml": "kind: VirtualRouter", "webhooks.yaml": "mpod.appmesh.k8s.aws",
	} {
		text, err := os.ReadFile(filepath.Join(m.dir, file))
		if err != nil || !strings.Contains(string(text), part) {
			m.Errorf("backup %s lacks %q: %v", file, part, err)
		}
	}
}

// checkAll checks the condition and the ARN of every object.
func (m *migrationCluster) checkAll(want string) error {
	m.Helper()
	for kind, field := range map[string]string{
		"mesh": "meshARN", "virtualnode": "virtualNodeARN", "virtualservice": "virtualServiceARN",
		"virtualrouter": "virtualRouterARN",
	} {
		out := m.must("get", kind+".appmesh.k8s.aws", "--all-namespaces", "-o",
			`jsonpath={range .items[*]}{.status.conditions[0].status} {.status.`+field+`} {.status.conditions[0].reason}{"\n"}{end}`)
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, want) || !strings.Contains(line, " Served") {
				return fmt.Errorf("%s: %s", kind, line)
			}
		}
	}
	return nil
}

// commandsOf returns the shell commands of a section of a page.
func commandsOf(t *testing.T, page, section string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", page+".md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	var out []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		out = append(out, block[1])
	}
	if !found || len(out) == 0 {
		t.Fatalf("section %q of the page has no commands", section)
	}
	return out
}

func newMigrationCluster(t *testing.T) *migrationCluster {
	m := &migrationCluster{T: t, name: fmt.Sprintf("migration-%d", os.Getpid()), path: t.TempDir(), dir: t.TempDir()}
	out, err := anymesh(t.Context(), "sandbox", "up", "--name", m.name, "--output", "json", "--images",
		filepath.Join(root, "examples/images.yaml"))
	t.Cleanup(func() {
		if _, err := anymesh(context.Background(), "sandbox", "down", "--name", m.name); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Clusters []struct{ Kubeconfig string }
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Clusters) == 0 {
		t.Fatalf("output of sandbox up %q: %v", out, err)
	}
	m.kubeconfig = answer.Clusters[0].Kubeconfig
	config, err := clientcmd.BuildConfigFromFlags("", m.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if m.kube, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(lab.bin, "anymesh")
	for name, text := range map[string]string{
		"kubectl": fmt.Sprintf("exec %s sandbox kubectl --name %s -- \"$@\"", program, m.name),
		"anymesh": fmt.Sprintf("exec %s \"$@\"", program),
	} {
		if err := os.WriteFile(filepath.Join(m.path, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// runCommands runs the commands in a shell and stops at the first error.
func (m *migrationCluster) runCommands(blocks []string) {
	m.Helper()
	for _, block := range blocks {
		script := fmt.Sprintf("set -e; cd %s; export PATH=%s:$PATH KUBECONFIG=%s\n%s", m.dir, m.path, m.kubeconfig,
			block)
		if out, err := command(m.Context(), "", "bash", "-c", script); err != nil {
			m.Fatalf("%v\n%s", err, out)
		}
	}
}

func (m *migrationCluster) kubectl(input string, args ...string) (string, error) {
	return command(m.Context(), input, filepath.Join(lab.bin, "anymesh"),
		append([]string{"sandbox", "kubectl", "--name", m.name, "--"}, args...)...)
}

func (m *migrationCluster) must(args ...string) string {
	m.Helper()
	out, err := m.kubectl("", args...)
	if err != nil {
		m.Fatal(err)
	}
	return out
}

func (m *migrationCluster) eventually(what string, check func() error) {
	m.Helper()
	eventually(m.T, 30*time.Second, what, check)
}

// call makes the pod of front call a URL and returns the version that responds.
func (m *migrationCluster) call(target string) string {
	m.Helper()
	raw, err := m.kube.CoreV1().RESTClient().Get().Namespace("shop").Resource("services").Name("front:8080").
		SubResource("proxy").Suffix("call").Param("url", target).DoRaw(m.Context())
	if err != nil {
		return err.Error()
	}
	var o outcome
	if err := json.Unmarshal(raw, &o); err != nil || o.Version == "" {
		return string(raw)
	}
	return o.Version
}
