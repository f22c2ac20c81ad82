package native

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Name is the sidecarClass of this driver.
const Name = "native"

const (
	// xdsSocket is where the agent relays xDS.
	xdsSocket = sidecar.CertificatesDir + "/xds.sock"
	// defaultStatsPort serves metrics and readiness.
	defaultStatsPort = 9901
)

func init() { sidecar.Register(Name, Driver{}) }

// Driver is the sidecar driver.
type Driver struct{}

var _ sidecar.Renderer = Driver{}

// Patch sets the sidecar container that runs the proxy. Pods whose traffic is captured are refused.
func (Driver) Patch(ctx context.Context) error {
	injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	if !ok {
		return errors.New("native: missing Injector Context")
	}
	image := injector.Configurator.GetSidecarImage()
	switch {
	case image == "":
		return fmt.Errorf("native: no sidecarImage is set for class %q in the mesh configuration",
			injector.Configurator.GetSidecarClass())
	case injector.Workload.Role != model.RoleGateway:
		return fmt.Errorf("native: the class %q serves gateways and applications that speak to their proxy; it does not "+
			"capture traffic yet", injector.Configurator.GetSidecarClass())
	}
	injector.Sidecar = &sidecar.Spec{
		Container: corev1.Container{
			Name:  Name,
			Image: image,
			Ports: []corev1.ContainerPort{{Name: "stats", ContainerPort: defaultStatsPort, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}},
		},
		Command:      []string{"anymesh", "proxy", "run", "--discovery", xdsSocket, "--node", injector.Node},
		ReadyURL:     fmt.Sprintf("http://127.0.0.1:%d/ready", defaultStatsPort),
		MetricsURL:   fmt.Sprintf("http://127.0.0.1:%d/metrics", defaultStatsPort),
		RelaySocket:  xdsSocket,
		RelayAddress: fmt.Sprintf("anymesh.%s.svc.cluster.local:%d", injector.OsmNamespace, injector.Configurator.GetProxyServerPort()),
	}
	return nil
}

// Start makes the control plane deliver the resources of Render.
func (d Driver) Start(ctx context.Context) (sidecar.Probes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return nil, errors.New("native: missing Controller Context")
	}
	controller.Deliver(d)
	return sidecar.HealthProbes{}, nil
}
