package controlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/socket"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/sidecar"
)

// driver is a sidecar driver that this control plane serves.
type driver struct {
	delivery.Class
	mesh      *sidecar.MeshConfig // as its sidecars have it
	deliverer *delivery.Deliverer
	xds       *xds.Server // nil if the driver delivers by itself
	probes    sidecar.HealthProbes
}

// newDrivers finds the drivers that a mesh configuration asks for: the default one, and each with an entry. Drivers that this program
// does not have are passed over, except for the default one; two on one port are an error.
func newDrivers(mesh *sidecar.MeshConfig, log *slog.Logger, changed func()) ([]*driver, error) {
	if err := sidecar.InstallDriver(mesh.GetSidecarClass()); err != nil {
		return nil, fmt.Errorf("sidecarClass of the mesh configuration: %w", err)
	}
	var out []*driver
	ports := map[uint32]string{}
	for _, name := range mesh.Classes() {
		if !slices.Contains(sidecar.Drivers(), name) {
			log.Warn("an entry of sidecarDrivers is passed over: this program has no such driver", "sidecarName", name, "known", sidecar.Drivers())
			continue
		}
		d := &driver{Class: delivery.Class{Name: name, Default: name == mesh.GetSidecarClass()}, mesh: mesh.Of(name)}
		if other, taken := ports[d.port()]; taken {
			return nil, fmt.Errorf("sidecar drivers %s and %s are both on port %d; give one of them another proxyServerPort in its entry of sidecarDrivers", other, name, d.port())
		}
		ports[d.port()] = name
		d.deliverer = delivery.New(log, d.Class, changed)
		out = append(out, d)
	}
	return out, nil
}

func (d *driver) port() uint32 { return d.mesh.GetProxyServerPort() }

// deliverers are those of all drivers.
func (cp *controlPlane) deliverers() delivery.Drivers {
	var out delivery.Drivers
	for _, d := range cp.drivers {
		out = append(out, d.deliverer)
	}
	return out
}

// startDriver lets a driver begin, and gives it a discovery server if it wants the control plane to deliver.
func (cp *controlPlane) startDriver(ctx context.Context, d *driver) error {
	started := &sidecar.ControllerContext{
		Context: ctx, SidecarClass: d.Name, ProxyServerPort: d.port(), OsmNamespace: cp.Namespace, KubeConfig: cp.KubeConfig,
		Configurator: d.mesh, MeshCatalog: catalog{cp.engine}, Deliver: d.deliverer.SetRenderer,
		DebugHandlers: map[string]http.Handler{}, Stop: make(chan struct{}),
	}
	driverCtx, cancel := context.WithCancel(started)
	started.CancelFunc = cancel
	context.AfterFunc(ctx, func() { close(started.Stop); cancel() })
	var err error
	if d.probes, err = sidecar.Start(driverCtx); err != nil {
		return fmt.Errorf("sidecar driver %s: %w", d.Name, err)
	}
	for path, handler := range started.DebugHandlers {
		if _, taken := cp.debug[path]; taken {
			return fmt.Errorf("sidecar driver %s: another driver serves %s of the debug server already; put the driver's name into the path", d.Name, path)
		}
		cp.debug[path] = handler
	}
	if !d.deliverer.Renders() {
		return nil
	}
	if dump := "/debug/" + d.Name; cp.debug[dump] == nil {
		cp.debug[dump] = cp.dumpConfiguration(d)
	}
	metrics := prometheus.WrapRegistererWith(prometheus.Labels{"driver": d.Name}, cp.registry)
	d.xds = xds.NewServer(cp.authorizer(d), xds.Options{TLS: cp.serving.MutualTLSConfig(), Observer: d.deliverer, Registerer: metrics, Logger: cp.Log})
	d.deliverer.Connect(cp.engine, d.xds)
	d.deliverer.Register(metrics)
	return nil
}

// serveXDS serves the sidecars of a driver.
func (cp *controlPlane) serveXDS(ctx context.Context, d *driver) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf(":%d", d.port()))
	if err != nil {
		return fmt.Errorf("discovery server of sidecar driver %s: %w", d.Name, err)
	}
	return d.xds.Serve(ctx, identity.CloseOnCertificateExpiry(socket.Listener(listener)))
}

// probeDrivers asks for the health of all drivers.
func (cp *controlPlane) probeDrivers(ctx context.Context, which func(sidecar.HealthProbes) *sidecar.HealthProbe) error {
	var all []error
	for _, d := range cp.drivers {
		if err := probe(ctx, which(d.probes)); err != nil {
			all = append(all, fmt.Errorf("sidecar driver %s: %w", d.Name, err))
		}
	}
	return errors.Join(all...)
}

// driverClient is a sidecar's stream, and the driver that it belongs to.
type driverClient struct {
	xds.Client
	Driver string
}

// clients lists the sidecars of all drivers that are connected, driver by driver.
func (cp *controlPlane) clients() []driverClient {
	out := []driverClient{}
	for _, d := range cp.drivers {
		if d.xds == nil {
			continue
		}
		for _, c := range d.xds.Clients() {
			out = append(out, driverClient{c, d.Name})
		}
	}
	return out
}

// driverInfo says of a driver what people may want to know.
type driverInfo struct {
	Name    string
	Default bool
	Port    uint32
}

func (cp *controlPlane) driverInfos() []driverInfo {
	out := []driverInfo{}
	for _, d := range cp.drivers {
		out = append(out, driverInfo{d.Name, d.Default, d.port()})
	}
	return out
}

// wrongServerHint says to a sidecar of a class which server is its own.
func (cp *controlPlane) wrongServerHint(class string) string {
	var names []string
	for _, d := range cp.drivers {
		if d.Has(class) {
			return fmt.Sprintf("its own listens on port %d; restart the pod if its sidecar is of another class than its annotation", d.port())
		}
		names = append(names, d.Name)
	}
	return "and the mesh serves " + strings.Join(names, ", ") + " only; add an entry to sidecarDrivers, or restart the pod"
}
