package envoy

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"anymesh.dev/anymesh/sidecar"
)

// drainSeconds is the drain time of connections of a removed listener; it is App Mesh's default.
const drainSeconds = 20

// Name is the sidecarClass of this driver.
const Name = "envoy"

func init() { sidecar.Register(Name, Driver{}) }

// Patch sets the sidecar container that runs Envoy, with its bootstrap.
func (Driver) Patch(ctx context.Context) error {
	injector, ok := ctx.Value(&sidecar.InjectorCtxKey).(*sidecar.InjectorContext)
	if !ok {
		return errors.New("envoy: missing Injector Context")
	}
	image := injector.Configurator.GetSidecarImage()
	if image == "" {
		return fmt.Errorf("envoy: no sidecarImage is set for class %q in the mesh configuration",
			injector.Configurator.GetSidecarClass())
	}
	host := "anymesh." + injector.OsmNamespace + ".svc.cluster.local"
	content, err := files(injector.Workload, injector.Node, host, injector.Configurator.GetProxyServerPort(),
		injector.SDSSocketPath)
	if err != nil {
		return fmt.Errorf("envoy: bootstrap of %s: %w", injector.Node, err)
	}
	injector.Sidecar = &sidecar.Spec{
		Container: corev1.Container{
			Name:  "envoy",
			Image: image,
			Ports: []corev1.ContainerPort{{Name: "stats", ContainerPort: statsPort, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
			}},
		},
		Command: []string{
			"envoy", "-c", sidecar.FilesDir + "/" + bootstrapFile, "--log-level",
			injector.Configurator.GetSidecarLogLevel(),
			"--concurrency", "2", "--disable-hot-restart", "--drain-time-s", strconv.Itoa(drainSeconds),
		},
		Files: content,
		// Envoy then closes each connection after its next response, and still accepts new connections.
		Drain:      []string{"anymesh", "agent", "drain", "--socket", adminSocket, "--path", "/healthcheck/fail"},
		AccessLog:  sidecar.AccessLogFile,
		ReadyURL:   fmt.Sprintf("http://127.0.0.1:%d/ready", statsPort),
		MetricsURL: fmt.Sprintf("http://127.0.0.1:%d/stats/prometheus", statsPort),
	}
	return nil
}

// Start sets the driver as its own renderer. It returns no health probes, because the driver runs no components of its
// own.
func (d Driver) Start(ctx context.Context) (sidecar.HealthProbes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return sidecar.HealthProbes{}, errors.New("envoy: missing Controller Context")
	}
	controller.DebugHandlers["/debug/"+Name] = configDump(controller.MeshCatalog)
	controller.Deliver(d)
	return sidecar.HealthProbes{}, nil
}
