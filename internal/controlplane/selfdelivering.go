package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"anymesh.dev/anymesh/internal/connlimit"
	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// certManager implements sidecar.CertManager for a driver.
type certManager struct {
	cp *controlPlane
	*driver
}

// Listen implements sidecar.CertManager.
func (m certManager) Listen(ctx context.Context) (net.Listener, error) {
	listener, err := connlimit.ListenTCP(ctx, fmt.Sprintf(":%d", m.port()))
	if err != nil {
		return nil, fmt.Errorf("server of sidecar driver %s: %w", m.Name, err)
	}
	config := m.cp.serving.MutualTLSConfig()
	config.NextProtos = []string{"h2", "http/1.1"}
	accept := config.GetConfigForClient
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c, err := accept(hello)
		if err == nil {
			c.NextProtos = config.NextProtos
		}
		return c, err
	}
	limit := m.cp.connections.limitDriver(m.Name)
	return tls.NewListener(identity.CloseOnCertificateExpiry(limit.Listen(listener)), config), nil
}

// Authorize implements sidecar.CertManager.
func (m certManager) Authorize(ctx context.Context, certificate *x509.Certificate) (model.Key, error) {
	workload, _, err := m.cp.authorizePod(ctx, certificate, m.driver)
	return workload.Key, err
}

// reportOnly makes the control plane report the findings of a driver that delivers configuration itself.
func (cp *controlPlane) reportOnly(d *driver) {
	renderer, _ := sidecar.RendererOf(d.Name)
	d.deliverer.ReportOnly(renderer)
	d.deliverer.Connect(cp.engine, nil)
	d.deliverer.Register(prometheus.WrapRegistererWith(prometheus.Labels{"driver": d.Name}, cp.registry))
}

// newNames creates the server of host names for agents whose driver delivers configuration itself, if there is such a
// driver. The other agents get host names from the xDS server of their driver.
func (cp *controlPlane) newNames() {
	var class delivery.Class
	for _, d := range cp.drivers {
		if d.xds == nil {
			class.Others = append(class.Others, d.Name)
			class.Default = class.Default || d.Default
		}
	}
	if len(class.Others) == 0 {
		return
	}
	class.Name = strings.Join(class.Others, ", ")
	cp.names = &driver{Class: class, deliverer: delivery.New(cp.Log, class, func() { cp.writer.Wake() })}
	cp.names.deliverer.PublishNames()
	cp.serveFrom(cp.names, "host names", cp.connections.limits.discovery/2)
	cp.engine.AddSink(cp.names.deliverer.Deliver)
}

// serveFrom creates the xDS server of a deliverer. label is the value of the label "driver" of its metrics.
func (cp *controlPlane) serveFrom(d *driver, label string, connections int) {
	metrics := prometheus.WrapRegistererWith(prometheus.Labels{"driver": label}, cp.registry)
	options := xds.Options{
		TLS: cp.serving.MutualTLSConfig(), Observer: d.deliverer, Registerer: metrics, Logger: cp.clientLog,
		MaxConnections: connections,
	}
	if renderer, _ := sidecar.RendererOf(d.Name); renderer != nil {
		if several, is := renderer.(sidecar.MultipleStreams); is {
			options = options.WithStreams(several.StreamsOfSidecar())
		}
	}
	d.xds = xds.NewServer(cp.authorizer(d), options)
	d.deliverer.Connect(cp.engine, d.xds)
	d.deliverer.Register(metrics)
}

// namesPort returns the port that serves host names to the agents of a class.
func (cp *controlPlane) namesPort(class string) (uint32, error) {
	for _, d := range cp.drivers {
		if d.Name == class && d.xds != nil {
			return d.port(), nil
		}
	}
	_, port, err := net.SplitHostPort(cp.NamesAddress)
	if err != nil {
		return 0, fmt.Errorf("address of host names %q: %w", cp.NamesAddress, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("address of host names %q: %w", cp.NamesAddress, err)
	}
	return uint32(number), nil
}
