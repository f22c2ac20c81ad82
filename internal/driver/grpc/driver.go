package grpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"anymesh.dev/anymesh/sidecar"
)

// Name is the sidecarClass of this driver.
const Name = "grpc"

const (
	// container is the container of the agent.
	container = "anymesh-agent"
	// xdsSocket is where the agent relays xDS.
	xdsSocket = sidecar.CertificatesDir + "/xds.sock"
	// bootstrapVariable has the bootstrap configuration of gRPC libraries (gRFC A27).
	bootstrapVariable = "GRPC_XDS_BOOTSTRAP_CONFIG"
	// certificates is the name of the certificate provider in the bootstrap configuration.
	certificates = "anymesh"
	// serverListeners is the template of the names of the listeners of servers (gRFC A36).
	serverListeners = "grpc/server?xds.resource.listening_address="
)

func init() { sidecar.Register(Name, Driver{}) }

// Driver is the sidecar driver.
type Driver struct{}

var (
	_ sidecar.Renderer        = Driver{}
	_ sidecar.MultipleStreams = Driver{}
)

// maxStreams is the number of services that a pod may call: its libraries open an xDS stream for each.
const maxStreams = 200

// StreamsOfSidecar implements sidecar.MultipleStreams.
func (Driver) StreamsOfSidecar() int { return maxStreams }

// Patch adds the agent, and tells the gRPC libraries of the application where it is.
func (Driver) Patch(ctx context.Context) error {
	injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	if !ok {
		return errors.New("grpc: missing Injector Context")
	}
	image := injector.Configurator.GetSidecarImage()
	if image == "" {
		return fmt.Errorf("grpc: no sidecarImage is set for class %q in the mesh configuration",
			injector.Configurator.GetSidecarClass())
	}
	if injector.Proxy.Tracing != nil || injector.Proxy.Statsd != nil {
		return errors.New("grpc: receivers of spans and of DogStatsD metrics are not supported")
	}
	config, err := bootstrap(injector.Node)
	if err != nil {
		return err
	}
	injector.Sidecar = &sidecar.Spec{
		Container: corev1.Container{
			Name: container, Image: image,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}},
		},
		ApplicationEnv: []corev1.EnvVar{{Name: bootstrapVariable, Value: config}},
		RelaySocket:    xdsSocket,
		RelayAddress: fmt.Sprintf("anymesh.%s.svc.cluster.local:%d", injector.OsmNamespace,
			injector.Configurator.GetProxyServerPort()),
	}
	return nil
}

// Start makes the control plane deliver the resources of Render.
func (d Driver) Start(ctx context.Context) (sidecar.Probes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return nil, errors.New("grpc: missing Controller Context")
	}
	controller.Deliver(d)
	return sidecar.HealthProbes{}, nil
}

// bootstrap returns the bootstrap configuration of gRPC libraries: gRFC A27, with certificates by A29 and servers by
// A36.
func bootstrap(node string) (string, error) {
	type object map[string]any
	text, err := json.Marshal(object{
		"node": object{"id": node},
		"xds_servers": []object{{
			"server_uri": "unix://" + xdsSocket, "channel_creds": []object{{"type": "insecure"}},
			"server_features": []string{"xds_v3"},
		}},
		"certificate_providers": object{certificates: object{"plugin_name": "file_watcher", "config": object{
			"certificate_file":    sidecar.CertificatesDir + "/tls.crt",
			"private_key_file":    sidecar.CertificatesDir + "/tls.key",
			"ca_certificate_file": sidecar.CertificatesDir + "/ca.crt",
			"refresh_interval":    "10s",
		}}},
		"server_listener_resource_name_template": serverListeners + "%s",
	})
	if err != nil {
		return "", fmt.Errorf("grpc: bootstrap configuration: %w", err)
	}
	return string(text), nil
}
