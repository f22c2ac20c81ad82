package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/socket"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// driver is a sidecar driver that this control plane serves.
type driver struct {
	delivery.Class
	mesh      *sidecar.MeshConfig // the configuration of its sidecars
	deliverer *delivery.Deliverer
	xds       *xds.Server // nil if the driver delivers configuration itself
	probes    sidecar.HealthProbes
	// leads runs while the control plane is the leader; nil for most drivers.
	leads func(context.Context)
	// proxies lists the proxies that the driver connects to; nil for most drivers.
	proxies func() []sidecar.Proxy
}

// newDrivers returns the drivers of a mesh configuration: the default driver, and each driver with an entry.
// Unregistered drivers are skipped with a warning, except for the default driver, which is an error. Two drivers on one
// port are an error.
func newDrivers(mesh *sidecar.MeshConfig, log *slog.Logger, changed func()) ([]*driver, error) {
	if err := sidecar.InstallDriver(mesh.GetSidecarClass()); err != nil {
		return nil, fmt.Errorf("sidecarClass of the mesh configuration: %w", err)
	}
	var out []*driver
	ports := map[uint32]string{}
	for _, name := range mesh.Classes() {
		if !slices.Contains(sidecar.Drivers(), name) {
			log.Warn("entry of sidecarDrivers is ignored: the driver is not registered", "sidecarName", name, "known",
				sidecar.Drivers())
			continue
		}
		d := &driver{mesh: mesh.Of(name)}
		d.Class = delivery.Class{
			Name: name, Default: name == mesh.GetSidecarClass(), LogLevel: d.mesh.GetSidecarLogLevel(),
		}
		if other, taken := ports[d.port()]; taken {
			return nil, fmt.Errorf("sidecar drivers %s and %s have the same port %d; set another proxyServerPort in the entry of one of them in sidecarDrivers", other, name, d.port())
		}
		ports[d.port()] = name
		if d.mesh.DisablesMTLS() {
			log.Warn("sidecarDisabledMTLS is ignored: what is protected stays protected", "sidecarName", name)
		}
		d.deliverer = delivery.New(log, d.Class, changed)
		out = append(out, d)
	}
	return out, nil
}

func (d *driver) port() uint32 { return d.mesh.GetProxyServerPort() }

// maxConnections is the limit of the mesh configuration, if it is below that of the process.
func (d *driver) maxConnections(limit int) int {
	if own := d.mesh.GetMaxDataPlaneConnections(); own > 0 {
		return min(own, limit)
	}
	return limit
}

// deliverers returns the deliverers of all drivers.
func (cp *controlPlane) deliverers() delivery.Drivers {
	var out delivery.Drivers
	for _, d := range cp.drivers {
		out = append(out, d.deliverer)
	}
	return out
}

// runtimeFindings returns the findings that do not follow from the objects alone, in canonical order: of sidecars,
// of objects that wait for their members, and of roots that the control plane does not rotate.
func (cp *controlPlane) runtimeFindings() []model.Finding {
	return model.SortFindings(slices.Concat(cp.deliverers().Findings(), cp.finalizers.Findings(), cp.rootFindings()))
}

// startDriver starts a driver, and creates an xDS server for it if the driver sets a renderer.
func (cp *controlPlane) startDriver(ctx context.Context, d *driver) error {
	started := &sidecar.ControllerContext{
		Context: ctx, SidecarClass: d.Name, ProxyServerPort: d.port(), OsmNamespace: cp.Namespace,
		KubeConfig: cp.KubeConfig, ProxyServiceCert: cp.serviceCertificate(),
		Configurator: d.mesh, MeshCatalog: cp.catalogOf(d), MsgBroker: d.deliverer.Broker(),
		CertManager: certManager{cp, d}, Deliver: d.deliverer.SetRenderer,
		DebugHandlers: map[string]http.Handler{}, Stop: make(chan struct{}), Report: d.deliverer.Report,
	}
	if cp.drivesWithoutAgent(d.Name) {
		started.Lead = func(run func(context.Context)) { d.leads = run }
	}
	driverCtx, cancel := context.WithCancel(started)
	started.CancelFunc = cancel
	context.AfterFunc(ctx, func() { close(started.Stop); cancel() })
	if !d.mesh.GetIPv6() {
		cp.Log.Info("sidecars and gateways listen on IPv4 only", "driver", d.Name)
	}
	probes, err := sidecar.Start(driverCtx)
	if err != nil {
		return fmt.Errorf("sidecar driver %s: %w", d.Name, err)
	}
	if probes != nil {
		d.probes = probes.GetHealthProbes()
	}
	d.proxies = started.Proxies
	for path, handler := range started.DebugHandlers {
		if _, taken := cp.debug[path]; taken {
			return fmt.Errorf("sidecar driver %s: another driver already has the debug handler %s; include the name of the driver in the path", d.Name, path)
		}
		cp.debug[path] = handler
	}
	if dump := "/debug/" + d.Name; cp.debug[dump] == nil {
		cp.debug[dump] = cp.dumpConfiguration(d)
	}
	if d.deliverer.Renders() {
		cp.serveFrom(d, d.Name, d.maxConnections(cp.connections.limits.discovery))
	} else {
		cp.reportOnly(d)
	}
	return nil
}

// catalogOf returns the catalog of a driver.
func (cp *controlPlane) catalogOf(d *driver) catalog {
	c := catalog{engine: cp.engine, class: d.Class}
	if renderer, known := sidecar.RendererOf(d.Name); known {
		c.supports = renderer.Supports()
	}
	return c
}

// serveXDS runs the xDS server of a driver.
func (cp *controlPlane) serveXDS(ctx context.Context, d *driver, address string) error {
	listener, err := connlimit.ListenTCP(ctx, address)
	if err != nil {
		return fmt.Errorf("xDS server of sidecar driver %s: %w", d.Name, err)
	}
	return d.xds.Serve(ctx, identity.CloseOnCertificateExpiry(socket.Listener(listener)))
}

// probeDrivers probes the health of all drivers.
func (cp *controlPlane) probeDrivers(ctx context.Context, which func(sidecar.HealthProbes) *sidecar.HealthProbe) error {
	var all []error
	for _, d := range cp.drivers {
		if err := probe(ctx, which(d.probes)); err != nil {
			all = append(all, fmt.Errorf("sidecar driver %s: %w", d.Name, err))
		}
	}
	return errors.Join(all...)
}

// driverClient is an xDS client with its driver.
type driverClient struct {
	xds.Client
	Driver string
	// NamesOnly is true for the agent of a pod whose driver delivers configuration itself.
	NamesOnly bool `json:",omitempty"`
}

// clients lists the connected sidecars of all drivers, grouped by driver.
func (cp *controlPlane) clients() []driverClient {
	out := []driverClient{}
	for _, d := range cp.drivers {
		if d.proxies != nil {
			for _, p := range d.proxies() {
				out = append(out, driverClient{clientOf(p), d.Name, false})
			}
		}
		if d.xds == nil {
			continue
		}
		for _, c := range d.xds.Clients() {
			out = append(out, driverClient{c, d.Name, false})
		}
	}
	if cp.names != nil {
		for _, c := range cp.names.xds.Clients() {
			class := cmp.Or(cp.engine.ClassOf(c.Identity), cp.Mesh.GetSidecarClass())
			out = append(out, driverClient{c, class, true})
		}
	}
	return out
}

// driverInfo describes a driver on the debug server.
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

// wrongServerHint returns the part of the denial that names the right server for a sidecar of a class.
func (cp *controlPlane) wrongServerHint(class string) string {
	var names []string
	for _, d := range cp.drivers {
		if d.Has(class) {
			return fmt.Sprintf("use port %d; if the sidecar was injected for another driver, restart the pod", d.port())
		}
		names = append(names, d.Name)
	}
	return "the mesh has only the drivers " + strings.Join(names, ", ") +
		"; add an entry to sidecarDrivers, or restart the pod"
}
