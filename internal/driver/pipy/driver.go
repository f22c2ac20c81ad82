package pipy

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"anymesh.dev/anymesh/sidecar"
)

// Name is the sidecarClass of this driver, the container of the sidecar and the name of its program.
const Name = "pipy"

const (
	// xdsSocket is where the agent relays xDS.
	xdsSocket = sidecar.CertificatesDir + "/xds.sock"
	// adminSocket takes the request to ask clients to leave.
	adminSocket = sidecar.CertificatesDir + "/pipy-admin.sock"
	// readyPort answers when the scripts run.
	readyPort = 9901
)

func init() { sidecar.Register(Name, Driver{}) }

// Driver is the sidecar driver.
type Driver struct{}

var _ sidecar.Renderer = Driver{}

// Patch sets the sidecar container. Its image has the programs anymesh and pipy.
func (Driver) Patch(ctx context.Context) error {
	injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	if !ok {
		return errors.New("pipy: missing Injector Context")
	}
	image := injector.Configurator.GetSidecarImage()
	switch {
	case image == "":
		return fmt.Errorf("pipy: no sidecarImage is set for class %q in the mesh configuration",
			injector.Configurator.GetSidecarClass())
	case injector.Proxy.Tracing != nil || injector.Proxy.Statsd != nil:
		return errors.New("pipy: receivers of spans and of DogStatsD metrics are not supported")
	}
	injector.Sidecar = &sidecar.Spec{
		Container: corev1.Container{
			Name: Name, Image: image,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
			}},
		},
		Command: []string{
			"anymesh", "proxy", "pipy", "--discovery", xdsSocket, "--node", injector.Node, "--program", Name,
			"--admin", adminSocket,
		},
		// Connections of clients then end after their next response, and new ones are still accepted.
		Drain:       []string{"anymesh", "agent", "drain", "--socket", adminSocket, "--path", "/drain"},
		ReadyURL:    fmt.Sprintf("http://127.0.0.1:%d/ready", readyPort),
		RelaySocket: xdsSocket,
		RelayAddress: fmt.Sprintf("anymesh.%s.svc.cluster.local:%d", injector.OsmNamespace,
			injector.Configurator.GetProxyServerPort()),
	}
	return nil
}

// Start makes the control plane deliver the resources of Render.
func (d Driver) Start(ctx context.Context) (sidecar.Probes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return nil, errors.New("pipy: missing Controller Context")
	}
	controller.Deliver(d)
	return sidecar.HealthProbes{}, nil
}
