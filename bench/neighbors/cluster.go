package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Names of the objects of the benchmark.
const (
	namespace = "market"
	outside   = "outside"
	port      = 8080
)

func serviceName(i int) string { return fmt.Sprintf("service-%03d", i) }

// cluster is a sandbox.
type cluster struct{ bin, name string }

func (c *cluster) up(ctx context.Context, o options) error {
	images := filepath.Join(c.bin, "..", "examples", "images.yaml")
	if err := c.anymesh(ctx, "", "sandbox", "up", "--name", c.name, "--images", images); err != nil {
		return err
	}
	if err := c.anymesh(ctx, "", "sandbox", "exec", "--name", c.name, "--", filepath.Join(c.bin, "anymesh"), "install",
		"--set", "replicas=1"); err != nil {
		return err
	}
	if err := c.kubectl(ctx, manifests(o), "apply", "-f", "-"); err != nil {
		return err
	}
	if err := c.kubectl(ctx, "", "-n", namespace, "wait", "--for=condition=Available", "deployment", "--all", "--timeout=5m"); err != nil {
		return err
	}
	return c.kubectl(ctx, "", "-n", outside, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=1m")
}

func (c *cluster) down() error {
	return c.anymesh(context.Background(), "", "sandbox", "down", "--name", c.name)
}

func (c *cluster) kubectl(ctx context.Context, input string, args ...string) error {
	return c.anymesh(ctx, input, append([]string{"sandbox", "kubectl", "--name", c.name, "--"}, args...)...)
}

func (c *cluster) anymesh(ctx context.Context, input string, args ...string) error {
	command := exec.CommandContext(ctx, filepath.Join(c.bin, "anymesh"), args...)
	command.Stdin = strings.NewReader(input)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	if err := command.Run(); err != nil {
		return fmt.Errorf("anymesh %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	fmt.Fprintln(os.Stderr, "done: anymesh", strings.Join(args[:2], " "))
	return nil
}

// manifests returns all objects: a mesh whose workloads reach each other, and two plain pods outside it.
func manifests(o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, meshManifests, namespace, outside)
	for i := range o.services {
		fmt.Fprintf(&b, serviceManifests, namespace, serviceName(i), port)
		if i < o.sidecars {
			fmt.Fprintf(&b, deploymentManifest, namespace, serviceName(i), port)
			continue
		}
		for j := range 2 {
			fmt.Fprintf(&b, endpointManifest, namespace, serviceName(i), j)
		}
	}
	return b.String()
}

const meshManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {mesh: %[1]s, appmesh.k8s.aws/sidecarInjectorWebhook: enabled}}
---
apiVersion: v1
kind: Namespace
metadata: {name: %[2]s}
---
apiVersion: v1
kind: Pod
metadata: {namespace: %[2]s, name: attacker-0}
spec: {containers: [{name: app, image: anymesh.dev/colors, args: [serve]}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: %[2]s, name: attacker-1}
spec: {containers: [{name: app, image: anymesh.dev/colors, args: [serve]}]}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: Mesh
metadata: {name: %[1]s}
spec: {namespaceSelector: {matchLabels: {mesh: %[1]s}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: BackendGroup
metadata: {namespace: %[1]s, name: all}
spec: {virtualservices: [{name: "*"}]}
`

// serviceManifests make a service. Its workload reaches all services.
const serviceManifests = `
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  podSelector: {matchLabels: {app: %[2]s}}
  listeners: [{portMapping: {port: %[3]d, protocol: http}}]
  serviceDiscovery: {awsCloudMap: {namespaceName: bench, serviceName: %[2]s}}
  backendGroups: [{name: all, namespace: %[1]s}]
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  awsName: %[2]s.%[1]s.svc.cluster.local
  provider: {virtualNode: {virtualNodeRef: {name: %[2]s}}}
---
apiVersion: v1
kind: Service
metadata: {namespace: %[1]s, name: %[2]s}
spec: {selector: {app: %[2]s}, ports: [{port: %[3]d}]}
`

// deploymentManifest runs a server and a client, which calls other services through the sidecar.
const deploymentManifest = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s, sidecar: "yes"}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, "--listen=:%[3]d", --version=%[2]s]
          readinessProbe: {httpGet: {path: /, port: %[3]d}, periodSeconds: 1, failureThreshold: 1}
          livenessProbe: {httpGet: {path: /, port: %[3]d}, periodSeconds: 1, failureThreshold: 3}
        - name: caller
          image: anymesh.dev/colors
          args: [drive, "--listen=:6060", --rate=0]
`

// endpointManifest is a pod that no scheduler assigns: the benchmark writes its status.
const endpointManifest = `
---
apiVersion: v1
kind: Pod
metadata:
  namespace: %[1]s
  name: %[2]s-%[3]d
  labels: {app: %[2]s}
  annotations: {appmesh.k8s.aws/sidecarInjectorWebhook: disabled}
spec: {schedulerName: none, containers: [{name: app, image: none}]}
`
