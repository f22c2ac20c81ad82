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

func ingressRoutes(l model.Listener) string {
	return fmt.Sprintf("rds_ingress_%s_%d", l.Protocol, l.Port)
}

func egressCluster(d model.Destination) string {
	if d.Workload == "" {
		return fmt.Sprintf("cds_egress_%s_%s", d.Mesh, strings.ReplaceAll(d.Name, "/", "_"))
	}
	return fmt.Sprintf("cds_egress_%s_%s_%s_%d", d.Mesh, d.Workload, d.Protocol, d.Port)
}

// egressRoutes names the routes for requests on a port, whatever their protocol, so that a change of one service does
// not rename those of others.
func egressRoutes(port uint16) string { return fmt.Sprintf("rds_egress_http_%d", port) }

// serviceRoutes names the routes of one service on a port.
func serviceRoutes(port uint16, service string) string { return egressRoutes(port) + "/" + service }

func allowAllCluster(mesh string) string { return "cds_egress_" + mesh + "_mesh-allow-all" }

func egressNamesCluster(mesh string) string { return "cds_egress_" + mesh + "_amazonaws" }
