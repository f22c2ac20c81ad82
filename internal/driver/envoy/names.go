package envoy

import (
	"fmt"
	"strings"

	"anymesh.dev/anymesh/model"
)

// The names of resources are those of App Mesh.
const (
	ingressListener = "lds_ingress_0.0.0.0_15000"
	egressListener  = "lds_egress_0.0.0.0_15001"
)

func ingressCluster(w model.Workload, l model.Listener) string {
	return fmt.Sprintf("cds_ingress_%s_%s_%s_%d", w.Mesh, w.Name, l.Protocol, l.Port)
}

// gatewayListener names the listener of a port of a gateway.
func gatewayListener(l model.Listener) string { return fmt.Sprintf("lds_ingress_0.0.0.0_%d", l.Port) }

// internalListener names the listener of a gateway for requests to services on a port.
func internalListener(port uint16) string { return fmt.Sprintf("lds_egress_internal_%d", port) }

// redirectCluster names the cluster of an internal listener, for the requests of a listener. App Mesh has the port
// 15001 in place of the port of the service.
func redirectCluster(w model.Workload, l model.Listener, port uint16) string {
	name := w.Name[strings.LastIndexByte(w.Name, '/')+1:]
	return fmt.Sprintf("cds_ingress_%s_%s_self_redirect_%d_%s_%d", w.Mesh, name, l.Port, l.Protocol, port)
}

// listenerHealthCluster names the cluster with which a gateway checks its listener. Checks that decide the readiness of
// the pod have a name of their own, by which readinessGauges selects their metrics.
func listenerHealthCluster(w model.Workload, l model.Listener) string {
	kind := "health_check"
	if l.HealthCheck.Readiness {
		kind = "readiness"
	}
	name := w.Name[strings.LastIndexByte(w.Name, '/')+1:]
	return fmt.Sprintf("cds_ingress_%s_%s_%s_%s_%d", w.Mesh, name, kind, l.Protocol, l.Port)
}

// readinessGauges is a regular expression for the names of the gauges of the checks that decide the readiness of a
// gateway: the number of healthy endpoints, 0 or 1.
const readinessGauges = `^cluster[.]cds_ingress_.*_readiness_[a-z0-9]+_[0-9]+[.]membership_healthy$`

func ingressRoutes(l model.Listener) string {
	return fmt.Sprintf("rds_ingress_%s_%d", l.Protocol, l.Port)
}

func egressCluster(d model.Destination) string {
	if d.Workload == "" {
		return fmt.Sprintf("cds_egress_%s_%s", d.Mesh, strings.ReplaceAll(d.Name, "/", "_"))
	}
	return fmt.Sprintf("cds_egress_%s_%s_%s_%d", d.Mesh, d.Workload, d.Protocol, d.Port)
}

// podCluster names the cluster of a destination for connections that name one of its pods.
func podCluster(d model.Destination) string { return egressCluster(d) + "_pod" }

// egressRoutes names the routes for requests on a port, whatever their protocol, so that a change of one service does
// not rename those of others.
func egressRoutes(port uint16) string { return fmt.Sprintf("rds_egress_http_%d", port) }

// serviceRoutes names the routes of one service on a port.
func serviceRoutes(port uint16, service string) string { return egressRoutes(port) + "/" + service }

// routeStats returns the name of a route in metrics. A dot would end it.
func routeStats(name string) string { return strings.ReplaceAll(name, ".", "_") }

// tcpFilterName names the configuration of the filter of a TCP service on a port.
func tcpFilterName(port uint16, service string) string {
	return fmt.Sprintf("ecds_egress_tcp_%d/%s", port, service)
}

func allowAllCluster(mesh string) string { return "cds_egress_" + mesh + "_mesh-allow-all" }

func egressNamesCluster(mesh string) string { return "cds_egress_" + mesh + "_amazonaws" }
