package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/sidecar"
)

// Name is the sidecarClass of this driver.
const Name = "native"

const (
	// xdsSocket is where the agent relays xDS.
	xdsSocket = sidecar.CertificatesDir + "/xds.sock"
	// adminSocket takes the request to ask clients to leave.
	adminSocket = sidecar.CertificatesDir + "/native-admin.sock"
	// defaultStatsPort serves metrics and readiness.
	defaultStatsPort = 9901
)

func init() { sidecar.Register(Name, Driver{}) }

// Driver is the sidecar driver.
type Driver struct{}

var _ sidecar.Renderer = Driver{}

// Patch sets the sidecar container that runs the proxy.
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
	case injector.Proxy.Tracing != nil || injector.Proxy.Statsd != nil:
		return errors.New("native: receivers of spans and of DogStatsD metrics are not supported")
	case injector.Proxy.StatsPort != 0 && injector.Proxy.StatsPort != defaultStatsPort:
		return fmt.Errorf("native: the port of metrics is %d, another one is not supported", defaultStatsPort)
	}
	level := cmp.Or(injector.Proxy.LogLevel, injector.Configurator.GetSidecarLogLevel())
	if _, known := config.Levels[level]; !known && !strings.HasPrefix(level, "$(") {
		return fmt.Errorf("native: unknown log level %q; use trace, debug, info, warning, error, critical or off", level)
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
		Command: []string{
			"anymesh", "proxy", "run", "--discovery", xdsSocket, "--node", injector.Node, "--admin", adminSocket,
			"--log-level", cmp.Or(level, "info"),
		},
		// Connections of clients then end after their next response, and new ones are still accepted.
		Drain:          []string{"anymesh", "agent", "drain", "--socket", adminSocket, "--path", "/drain"},
		LogLevelSocket: adminSocket,
		AccessLog:      sidecar.AccessLogFile,
		ReadyURL:       fmt.Sprintf("http://127.0.0.1:%d/ready", defaultStatsPort),
		MetricsURL:     fmt.Sprintf("http://127.0.0.1:%d/metrics", defaultStatsPort),
		HealthURL:      healthURL(injector.Workload),
		RelaySocket:    xdsSocket,
		RelayAddress:   fmt.Sprintf("anymesh.%s.svc.cluster.local:%d", injector.OsmNamespace, injector.Configurator.GetProxyServerPort()),
	}
	return nil
}

// Start makes the control plane deliver the resources of Render. Proxies without an agent get them over the REST API of
// l7mp.
func (d Driver) Start(ctx context.Context) (sidecar.Probes, error) {
	controller, ok := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	if !ok {
		return nil, errors.New("native: missing Controller Context")
	}
	controller.Deliver(d)
	if controller.Lead != nil {
		pusher := newRESTPusher(controller)
		controller.Lead(pusher.run)
		controller.Proxies = pusher.proxies
	}
	return sidecar.HealthProbes{}, nil
}
