package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// name is the name of the sandbox.
const name = "demo"

// up starts the sandbox and replaces one that an earlier demo left.
func (d *demo) up(ctx context.Context) error {
	_ = d.anymesh(ctx, "sandbox", "down", "--name", name) // it usually does not exist
	out, err := d.output(ctx, "anymesh", "sandbox", "up", "--name", name, "--output", "json",
		"--images", filepath.Join(d.folder, "..", "images.yaml"))
	if err != nil {
		return err
	}
	var lab struct {
		Clusters []struct {
			Kubeconfig string `json:"kubeconfig"`
		} `json:"clusters"`
	}
	if err := json.Unmarshal(out, &lab); err != nil || len(lab.Clusters) == 0 {
		return fmt.Errorf("output of sandbox up %q: %w", out, err)
	}
	d.kubeconfig = lab.Clusters[0].Kubeconfig
	return nil
}

// deploy applies the manifests, the mesh first, and waits for the pods.
func (d *demo) deploy(ctx context.Context) error {
	for _, file := range []string{"00-mesh.yaml", "color.yaml", "tally.yaml", "store.yaml", "front.yaml"} {
		if _, err := d.kubectl(ctx, "apply", "-f", filepath.Join(d.folder, file)); err != nil {
			return err
		}
	}
	_, err := d.kubectl(ctx, "-n", "colors", "wait", "--for=condition=Available", "deployment", "--all",
		"--timeout=60s")
	return err
}

// setWeights patches the route as a user would.
func (d *demo) setWeights(ctx context.Context, red, blue int) error {
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/routes/0/httpRoute/action/weightedTargets/0/weight","value":%d},
	  {"op":"replace","path":"/spec/routes/0/httpRoute/action/weightedTargets/1/weight","value":%d}]`, red, blue)
	_, err := d.kubectl(ctx, "-n", "colors", "patch", "virtualrouter.appmesh.k8s.aws", "color", "--type=json", "-p",
		patch)
	return err
}

const countsPath = "/api/v1/namespaces/colors/services/front:8080/proxy/counts"

// resetCounts resets the counts of front.
func (d *demo) resetCounts(ctx context.Context) error {
	_, err := d.kubectl(ctx, "create", "--raw", countsPath, "-f", "/dev/null")
	return err
}

// counts returns the responses that front has counted: service -> version -> number.
func (d *demo) counts(ctx context.Context) (map[string]map[string]int64, error) {
	out, err := d.kubectl(ctx, "get", "--raw", countsPath)
	if err != nil {
		return nil, err
	}
	counts := map[string]map[string]int64{}
	if err := json.Unmarshal(out, &counts); err != nil {
		return nil, fmt.Errorf("counts of front: %w", err)
	}
	return counts, nil
}

func (d *demo) kubectl(ctx context.Context, args ...string) ([]byte, error) {
	return d.output(ctx, "anymesh", append([]string{"sandbox", "kubectl", "--name", name, "--"}, args...)...)
}

func (d *demo) anymesh(ctx context.Context, args ...string) error {
	_, err := d.output(ctx, "anymesh", args...)
	return err
}

// output runs a program and returns its standard output. The error contains its standard error.
func (d *demo) output(ctx context.Context, program string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, filepath.Join(d.bin, program), args...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err,
			strings.TrimSpace(complaints.String()))
	}
	return out, nil
}
