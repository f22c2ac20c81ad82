package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/api/crds"
	"anymesh.dev/anymesh/internal/identity"
	driver "anymesh.dev/anymesh/sidecar"
)

// anymesh is the Anymesh control plane, with App Mesh objects.
type anymesh struct {
	kind string // of change; empty if only endpoints change
	// class is the driver of the sidecars; empty means envoy.
	class string
}

func (a anymesh) createObjects(ctx context.Context, c *cluster, s size) error {
	if err := c.define(ctx); err != nil {
		return err
	}
	mesh := &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: meshName}, Spec: api.MeshSpec{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"mesh": namespace}},
	}}
	if err := c.client.Create(ctx, mesh); err != nil {
		return err
	}
	if err := each(ctx, s.services, c.service); err != nil {
		return err
	}
	if a.kind == "weights" || a.kind == "routes" {
		if err := each(ctx, s.services, func(ctx context.Context, i int) error {
			return c.shift(ctx, i, s, 50, "/")
		}); err != nil {
			return err
		}
	}
	if s.group {
		if err := c.create(ctx, group()); err != nil {
			return err
		}
	}
	if err := each(ctx, s.workloads, func(ctx context.Context, i int) error {
		return c.create(ctx, workload(i, s))
	}); err != nil {
		return err
	}
	progress("objects created")
	return a.writeStatus(ctx, c)
}

// writeStatus writes the status of the objects before the measurement, by a separate control plane.
func (a anymesh) writeStatus(ctx context.Context, c *cluster) error {
	server, err := a.run(ctx, c, "--status-writes-per-second", "200")
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.settle(ctx); err != nil {
		return err
	}
	progress("status written")
	return nil
}

// start ignores the CA: the control plane reads it from the cluster, where the benchmark got it from.
func (a anymesh) start(ctx context.Context, c *cluster, _ *identity.CA) (*server, error) {
	return a.run(ctx, c)
}

// run starts the control plane with additional arguments.
func (a anymesh) run(ctx context.Context, c *cluster, more ...string) (*server, error) {
	_, port, err := net.SplitHostPort(c.discovery)
	if err != nil {
		return nil, err
	}
	var metrics, debug string
	if err := freeAddresses(&metrics, &debug); err != nil {
		return nil, err
	}
	config := filepath.Join(filepath.Dir(c.kubeconfig), "mesh.json")
	class := cmp.Or(a.class, "envoy")
	text := fmt.Sprintf(`{"sidecar": {"sidecarClass": %q, "sidecarDrivers": [{"sidecarName": %q, "proxyServerPort": %s}]}}`,
		class, class, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	arguments := []string{
		"controller", "--kubeconfig", c.kubeconfig, "--mesh-config", config,
		"--signing-address", "127.0.0.1:0", "--webhook-address", "127.0.0.1:0", "--metrics-address", metrics,
		"--debug-address", debug, "--log-level", "warn",
	}
	return startServer(exec.CommandContext(ctx, filepath.Join(c.bin, "anymesh"), append(arguments, more...)...),
		metrics, debug)
}

func (anymesh) setReady(ctx context.Context, c *cluster, service, j int, ready bool) error {
	return c.setReady(ctx, service, j, ready)
}

func (anymesh) clusterName(service int) string {
	return fmt.Sprintf("cds_egress_%s_%s_%s_http_%d", meshName, serviceName(service), namespace, port)
}

func (anymesh) subscriptions(_, workload int) []*discoveryv3.DeltaDiscoveryRequest {
	node := &corev3.Node{
		Id: fmt.Sprintf("mesh/%s/virtualNode/%s_%s", meshName, workloadName(workload), namespace),
	}
	return subscriptions(node, scopeType, fmt.Sprintf("xdstp://anymesh%srds_egress_http_%d/*", scopePath, port))
}

func (anymesh) agentSubscriptions() []*discoveryv3.DeltaDiscoveryRequest {
	return []*discoveryv3.DeltaDiscoveryRequest{{
		Node: &corev3.Node{}, TypeUrl: driver.HostNameType, ResourceNamesSubscribe: []string{"*"},
	}}
}

// define installs the CRDs and waits until they are served.
func (c *cluster) define(ctx context.Context) error {
	all, err := crds.All()
	if err != nil {
		return err
	}
	for _, crd := range all {
		crd.Spec.Conversion = nil
		if err := c.client.Create(ctx, crd); err != nil {
			return err
		}
	}
	return eventually(ctx, "CRDs are not served", func() error {
		return c.client.List(ctx, &api.VirtualNodeList{})
	})
}
