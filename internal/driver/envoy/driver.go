package envoy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// drainSeconds is the drain time of connections of a removed listener; it is App Mesh's default.
const drainSeconds = 20

// defaultConcurrency is the number of worker threads.
const defaultConcurrency = 2

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
	p := proxy{
		workload: injector.Workload, node: injector.Node, sdsSocket: injector.SDSSocketPath, ProxySettings: injector.Proxy,
	}
	if err := checkTracing(p.Tracing); err != nil {
		return fmt.Errorf("envoy: %w", err)
	}
	content, err := files(p)
	if err != nil {
		return fmt.Errorf("envoy: bootstrap of %s: %w", injector.Node, err)
	}
	arguments, err := command(p, injector.Configurator.GetSidecarLogLevel())
	if err != nil {
		return fmt.Errorf("envoy: bootstrap of %s: %w", injector.Node, err)
	}
	injector.Sidecar = &sidecar.Spec{
		Container: corev1.Container{
			Name:  "envoy",
			Image: image,
			Ports: []corev1.ContainerPort{{Name: "stats", ContainerPort: int32(p.statsPort()), Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi"),
			}},
		},
		Command: arguments,
		Files:   content,
		// Envoy then closes each connection after its next response, and still accepts new connections.
		Drain:          []string{"anymesh", "agent", "drain", "--socket", adminSocket, "--path", "/healthcheck/fail"},
		AccessLog:      sidecar.AccessLogFile,
		ReadyURL:       fmt.Sprintf("http://127.0.0.1:%d/ready", p.statsPort()),
		ConfigArgument: configArgument,
		LogLevelSocket: adminSocket,
		RelaySocket:    xdsSocket,
		RelayAddress:   fmt.Sprintf("%s:%d", host, injector.Configurator.GetProxyServerPort()),
		MetricsURL:     p.metricsURL(keptMetrics),
	}
	if p.workload.Role == model.RoleGateway {
		injector.Sidecar.HealthURL = p.metricsURL(readinessGauges)
	}
	return nil
}

// configArgument is the option whose value is merged into the bootstrap: messages are merged, lists are appended.
const configArgument = "--config-yaml"

// command returns the command line of Envoy.
func command(p proxy, logLevel string) ([]string, error) {
	drain := drainSeconds
	if p.DrainTime != nil {
		drain = int(p.DrainTime.Seconds())
	}
	out := []string{
		"envoy", "-c", sidecar.FilesDir + "/" + bootstrapFile, "--log-level", cmp.Or(p.LogLevel, logLevel),
		"--concurrency", strconv.Itoa(cmp.Or(p.Concurrency, defaultConcurrency)), "--disable-hot-restart",
		"--drain-time-s", strconv.Itoa(drain),
	}
	referring := receivers(p, true)
	if proto.Size(referring) == 0 {
		return out, nil
	}
	config, err := compactJSON(referring)
	if err != nil {
		return nil, err
	}
	return append(out, configArgument, string(config)), nil
}

// Start sets the driver as its own renderer. It returns no health probes, because the driver runs no components of its
// own.
func (d Driver) Start(ctx context.Context) (sidecar.Probes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return nil, errors.New("envoy: missing Controller Context")
	}
	d.ipv4Only = !controller.Configurator.GetIPv6()
	controller.DebugHandlers["/debug/"+Name] = d.configDump(controller.MeshCatalog)
	controller.Deliver(d)
	return sidecar.HealthProbes{}, nil
}
