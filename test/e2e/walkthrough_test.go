package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// walkthroughRow returns the two cells of the row of docs/migration.md about a command of the walkthroughs of App Mesh.
func walkthroughRow(t *testing.T, command string) (before, now string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/migration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); strings.Contains(cells[0], command) && len(cells) == 2 {
			return cells[0], cells[1]
		}
	}
	t.Fatalf("the page has no row for %s", command)
	return "", ""
}

// forwardPod forwards a port of a pod with kubectl, and returns its URL.
func forwardPod(t *testing.T, namespace, pod, port string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(lab.bin, "anymesh"), "sandbox", "kubectl", "--name", lab.name,
		"--", "-n", namespace, "port-forward", "pod/"+pod, ":"+port)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // the context of the test has ended
	line, err := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if err != nil || m == "" {
		t.Fatalf("kubectl port-forward: %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return "http://" + m
}

// TestWalkthroughCommands checks what docs/migration.md says about the commands of App Mesh's walkthroughs: they fail,
// and each command that the page has in place of them answers.
func TestWalkthroughCommands(t *testing.T) {
	before, now := walkthroughRow(t, "curl localhost:9901/clusters")
	pod := run(t, "-n", "colors", "get", "pods", "-l", "app=front", "-o", "jsonpath={.items[0].metadata.name}")
	if out, err := kubectl(t.Context(), "-n", "colors", "exec", pod, "-c", "envoy", "--", "curl",
		"localhost:9901/clusters"); err == nil || !strings.Contains(err.Error(), "curl") {
		t.Errorf("curl in the container of the sidecar: %s, %v", out, err)
	}
	var admin string
	get := func(path string, status int, text string) {
		t.Helper()
		eventually(t, 10*time.Second, path, func() error {
			r, err := http.Get(admin + path)
			if err != nil {
				return err
			}
			defer func() { _ = r.Body.Close() }()
			body, err := io.ReadAll(r.Body)
			if err == nil && (r.StatusCode != status || !strings.Contains(string(body), text)) {
				err = fmt.Errorf("status %d: %.300s", r.StatusCode, body)
			}
			return err
		})
	}
	replacements := []struct {
		command string
		check   func()
	}{
		{"anymesh proxy config WORKLOAD", func() {
			wantOutput(t, []string{"cds_egress_colors_", "lds_egress_"}, "proxy", "config", "front", "-n", "colors")
		}},
		{"anymesh proxy status", func() { wantOutput(t, []string{"colors/" + pod}, "proxy", "status") }},
		{"kubectl port-forward POD 9901", func() { admin = forwardPod(t, "colors", pod, "9901") }},
		{"/stats", func() { get("/stats", http.StatusOK, "cluster.cds_egress_colors_") }},
	}
	var commands []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(now, -1) {
		commands = append(commands, m[1])
	}
	for i, r := range replacements {
		if i >= len(commands) || commands[i] != r.command {
			t.Fatalf("the page has the commands %q, of which the test knows others", commands)
		}
		r.check()
	}
	if len(commands) != len(replacements) {
		t.Errorf("the page has the commands %q, of which the test does not know all", commands)
	}
	paths := regexp.MustCompile("`(?:[^`]*:9901)?(/[a-z_]+)`").FindAllStringSubmatch(before, -1)
	if !slices.ContainsFunc(paths, func(m []string) bool { return m[1] == "/listeners" }) {
		t.Fatalf("paths of the page: %q", paths)
	}
	for _, m := range paths {
		get(m[1], http.StatusNotFound, "")
	}
	header, own := walkthroughRow(t, "server: envoy")
	if !strings.Contains(own, "the one of the application, or none") {
		t.Errorf("%s: %s", header, own)
	}
	address := run(t, "-n", "colors", "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
	if answer, err := onNode(t.Context(), "curl", "-s", "-i", "--max-time", "20",
		hostPort(address, 8080)+"healthz"); err != nil || !strings.Contains(answer, "200 OK") ||
		strings.Contains(strings.ToLower(answer), "\nserver:") {
		t.Errorf("a response of front: %s, %v", answer, err)
	}
}
