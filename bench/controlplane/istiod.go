package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/identity"
)

// istiod is the control plane of Istio with its defaults, with Services and EndpointSlices as input. Unused features
// are disabled.
type istiod struct {
	program string
	kind    string // of change; empty if only endpoints change
}

func (p istiod) createObjects(ctx context.Context, c *cluster, s size) error {
	if err := c.defineVirtualService(ctx); err != nil {
		return err
	}
	err := each(ctx, s.services, func(ctx context.Context, i int) error {
		for _, o := range istioService(i) {
			if err := c.create(ctx, o); err != nil {
				return err
			}
		}
		if p.kind == "weights" || p.kind == "routes" {
			return c.routeService(ctx, i, s, 50, "/")
		}
		return nil
	})
	progress("objects created")
	return err
}

// istioService returns a Service without pods: the benchmark writes its EndpointSlice.
func istioService(i int) []client.Object {
	name, number, ready, protocol := "http", int32(port), true, corev1.ProtocolTCP
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: meta(serviceName(i)), AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &number, Protocol: &protocol}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: serviceName(i)}
	for j := range 2 {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{podAddress(i, j)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	return []client.Object{
		&corev1.Service{
			ObjectMeta: meta(serviceName(i)),
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: name, Port: number}}},
		},
		slice,
	}
}

func (p istiod) start(ctx context.Context, c *cluster, ca *identity.CA) (*server, error) {
	folder := filepath.Dir(c.kubeconfig)
	if err := writeCertificate(folder, ca); err != nil {
		return nil, err
	}
	var metrics, debug, plain, control string
	if err := freeAddresses(&metrics, &debug, &plain, &control); err != nil {
		return nil, err
	}
	_, controlPort, err := net.SplitHostPort(control)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, p.program, "discovery", "--kubeconfig", c.kubeconfig, "--namespace", system,
		"--secureGRPCAddr", c.discovery, "--grpcAddr", plain, "--monitoringAddr", metrics, "--httpAddr", debug,
		"--httpsAddr", "",
		"--caCertFile", "root.pem", "--tlsCertFile", "tls.pem", "--tlsKeyFile", "key.pem",
		"--ctrlz_port", controlPort, "--log_output_level", "default:warn")
	command.Dir = folder // it reads files from its working directory
	command.Env = append(os.Environ(),
		"POD_NAME=istiod", "POD_NAMESPACE="+system, "ENABLE_CA_SERVER=false", "INJECT_ENABLED=false",
		"PILOT_ENABLE_ANALYSIS=false",
		"PILOT_MAX_REQUESTS_PER_SECOND=1000") // otherwise simultaneous clients are rejected
	return startServer(command, metrics, debug)
}

// writeCertificate writes a server certificate of the CA to files.
func writeCertificate(folder string, ca *identity.CA) error {
	serving, err := ca.IssueServingCertificate([]string{serverName})
	if err != nil {
		return err
	}
	certificate, err := serving.GetCertificate(nil)
	if err != nil {
		return err
	}
	var chain []byte
	for _, der := range certificate.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"root.pem": ca.CertificatePEM(), "tls.pem": chain,
		"key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (istiod) setReady(ctx context.Context, c *cluster, service, j int, ready bool) error {
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/endpoints/%d/conditions/ready", "value": %v}]`, j, ready)
	return c.client.Patch(ctx, &discoveryv1.EndpointSlice{ObjectMeta: meta(serviceName(service))},
		client.RawPatch(types.JSONPatchType, []byte(patch)))
}

func (istiod) clusterName(service int) string {
	return fmt.Sprintf("outbound|%d||%s.%s.svc.cluster.local", port, serviceName(service), namespace)
}

func (istiod) subscriptions(client, workload int) []*discoveryv3.DeltaDiscoveryRequest {
	text := structpb.NewStringValue
	node := &corev3.Node{
		Id: fmt.Sprintf("sidecar~%s~%s.%s~%s.svc.cluster.local", clientAddress(client), clientPod(client), namespace,
			namespace),
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			"NAMESPACE": text(namespace), "SERVICE_ACCOUNT": text("default"), "CLUSTER_ID": text("Kubernetes"),
			"ISTIO_VERSION": text("1.31.0"),
			"LABELS": structpb.NewStructValue(&structpb.Struct{
				Fields: map[string]*structpb.Value{"app": text(workloadName(workload))},
			}),
		}},
	}
	return subscriptions(node, routeType, fmt.Sprint(port))
}
