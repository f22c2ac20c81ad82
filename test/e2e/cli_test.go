package e2e

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/build"
)

// runVerb runs an anymesh command against the cluster and returns its output and exit code.
func runVerb(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(lab.bin, "anymesh"),
		append(args, "--kubeconfig", lab.kubeconfig)...)
	var printed, errOutput bytes.Buffer
	c.Stdout, c.Stderr = &printed, &errOutput
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return printed.String() + errOutput.String(), code
}

// wantOutput checks that a command succeeds and that its output contains the texts.
func wantOutput(t *testing.T, texts []string, args ...string) {
	t.Helper()
	out, code := runVerb(t, args...)
	for _, text := range texts {
		if !strings.Contains(out, text) || code != 0 {
			t.Errorf("anymesh %s: exit code %d; want %q in\n%s", strings.Join(args, " "), code, text, out)
		}
	}
}

// TestExplainMatchesTraffic compares the output of explain with real requests.
func TestExplainMatchesTraffic(t *testing.T) {
	wantOutput(t,
		[]string{
			"75.0%", "color-red_colors", "VirtualRouter colors/color spec.routes[0].httpRoute",
			"1 of 1 instance is ready", "request 10s",
		},
		"explain", "--from", "colors/front", colorURL)
	out, code := runVerb(t, "explain", "--from", "front", "-n", "colors", "http://color-red.colors.svc.cluster.local:8080/")
	if code != 1 || !strings.Contains(out, "responds with status 404") {
		t.Errorf("exit code %d: %s", code, out)
	}
	o, err := callFrom(t.Context(), "front", "http://color-red.colors.svc.cluster.local:8080/")
	if err := want(o, err, o.Status == 404, "404"); err != nil {
		t.Error(err)
	}
}

func TestDescribePod(t *testing.T) {
	pod := strings.TrimSpace(run(t, "-n", "colors", "get", "pods", "-l", "app=front", "-o",
		"jsonpath={.items[0].metadata.name}"))
	wantOutput(t, []string{"is an instance of VirtualNode colors/front", "store.colors.svc.cluster.local:9000 tcp", "spiffe://cluster.local/ns/colors/sa/default"},
		"describe", "pod", pod, "-n", "colors")
	wantOutput(t, []string{"VirtualNode colors/front", "color.colors.svc.cluster.local:8080"}, "describe", "service",
		"color", "-n", "colors")
}

func TestGraph(t *testing.T) {
	wantOutput(t, []string{"└─ front  8080 http · 1/1 ready", "75% color-red"}, "graph", "--mesh", "colors")
	svg, code := runVerb(t, "graph", "--output", "svg")
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil || code != 0 {
			t.Fatalf("exit code %d, %v", code, err)
		}
	}
}

func TestProxyStatusAndConfig(t *testing.T) {
	eventually(t, 10*time.Second, "all sidecars of colors in sync", func() error {
		out, code := runVerb(t, "proxy", "status", "--output", "json")
		var all []struct {
			Key, Pod string
			Types    []struct{ SentVersion, AckedVersion string }
		}
		if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
			return fmt.Errorf("exit code %d, %w: %s", code, err, out)
		}
		workloads := map[string]bool{}
		for _, s := range all {
			for _, of := range s.Types {
				if of.SentVersion == of.AckedVersion && strings.HasPrefix(s.Pod, "colors/") {
					workloads[s.Key] = true
				}
			}
		}
		if len(workloads) < 5 {
			return fmt.Errorf("only %v", workloads)
		}
		return nil
	})
	wantOutput(t, []string{"colors/front_colors", "synced"}, "proxy", "status")
	wantOutput(t,
		[]string{
			"listener lds_egress_0.0.0.0_15001", "75.0% cds_egress_colors_color-red_colors_http_8080",
			"path begins with /",
		},
		"proxy", "config", "front", "-n", "colors")
}

func TestVersion(t *testing.T) {
	want := []string{"client         " + build.Version, "control plane  " + build.Version, "sidecars       " + build.Version}
	wantOutput(t, want, "version")
	out, code := runVerb(t, "version", "--output", "json")
	var v struct {
		Client       struct{ Version, Platform string }
		ControlPlane []struct{ Pod, Version, Platform string }
		Sidecars     []struct{ Pods int }
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if len(v.ControlPlane) == 0 || v.ControlPlane[0].Version != v.Client.Version || len(v.Sidecars) == 0 ||
		v.Sidecars[0].Pods < 5 {
		t.Errorf("got %+v", v)
	}
}

func TestCheckPasses(t *testing.T) {
	wantOutput(t, []string{
		"✓ the user has the permissions to install", "✓ the reserved address ranges do not overlap", "all checks passed",
	}, "check", "--pre")
	eventually(t, 15*time.Second, "all checks pass", func() error {
		out, code := runVerb(t, "check")
		if code != 0 || !strings.Contains(out, "✓ the webhooks work") || !strings.Contains(out, "✓ the reserved address ranges") {
			return fmt.Errorf("exit code %d: %s", code, out)
		}
		return nil
	})
}

// TestCheckWithoutCluster checks that the first check fails and the others are skipped.
func TestCheckWithoutCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x}}], clusters: [{name: x, cluster: {server: "https://127.0.0.1:1"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := anymesh(t.Context(), "check", "--output", "json", "--kubeconfig", file)
	var results []struct{ Code, Status, Remedy string }
	if jsonErr := json.Unmarshal([]byte(out), &results); err == nil || jsonErr != nil || len(results) == 0 {
		t.Fatalf("%v, %v: %s", err, jsonErr, out)
	}
	if r := results[0]; r.Code != "APIServerReachable" || r.Status != "failed" || r.Remedy == "" {
		t.Errorf("first: %+v", r)
	}
	for _, r := range results[1:] {
		if r.Status != "skipped" {
			t.Errorf("%s is %s", r.Code, r.Status)
		}
	}
}
