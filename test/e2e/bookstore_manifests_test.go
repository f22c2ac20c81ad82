package e2e

import (
	"fmt"
	"strings"
)

// bookstoreNamespaces are the namespaces of the bookstore of Open Service Mesh.
var bookstoreNamespaces = []string{"bookbuyer", "bookthief", "bookstore", "bookwarehouse"}

// bookstoreApps returns the namespaces and applications of the bookstore: names, ports and ServiceAccounts are those of
// its documentation, the images are not. The API server calls port 8080 of the clients, which is excluded from capture.
func bookstoreApps() string {
	var b strings.Builder
	for _, ns := range bookstoreNamespaces {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {openservicemesh.io/monitored-by: osm},"+
			" annotations: {openservicemesh.io/sidecar-injection: enabled}}\n", ns)
	}
	client := "{name: client, image: anymesh.dev/colors, args: [drive, --listen=:8080, --rate=0]}"
	server := func(port int, version string) string {
		return fmt.Sprintf("{name: server, image: anymesh.dev/colors, args: [serve, \"--listen=:%[1]d\", --version=%[2]s], "+
			"readinessProbe: {httpGet: {path: /healthz, port: %[1]d}, periodSeconds: 1}}", port, version)
	}
	for _, a := range []struct {
		namespace, name, service string
		port                     int
		containers               []string
	}{
		{"bookbuyer", "bookbuyer", "", 0, []string{client}},
		{"bookthief", "bookthief", "", 0, []string{client}},
		{"bookstore", "bookstore", "{name: bookstore-port, port: 14001}", 14001, []string{client, server(14001, "v1")}},
		{"bookstore", "bookstore-v2", "{name: bookstore-port, port: 14001}", 14001, []string{server(14001, "v2")}},
		{"bookwarehouse", "bookwarehouse", "{name: bookwarehouse-port, port: 14001}", 14001,
			[]string{client, server(14001, "warehouse")}},
		{"bookwarehouse", "mysql", "{name: mysql, port: 3306, appProtocol: tcp}", 3306, []string{server(3306, "mysql")}},
	} {
		ports := []string{"{name: client, port: 8080}"}
		if a.service != "" {
			ports = append(ports, a.service)
		}
		fmt.Fprintf(&b, `---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[2]s, namespace: %[1]s}}
---
{apiVersion: v1, kind: Service, metadata: {name: %[2]s, namespace: %[1]s}, spec: {selector: {app: %[2]s}, ports: [%[3]s]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}, annotations: {openservicemesh.io/inbound-port-exclusion-list: "8080"}}
    spec: {serviceAccountName: %[2]s, terminationGracePeriodSeconds: 5, containers: [%[4]s]}
`, a.namespace, a.name, strings.Join(ports, ", "), strings.Join(a.containers, ", "))
	}
	return b.String()
}

// bookstoreMeshConfig is the MeshConfig of OSM's chart, in the older version.
const bookstoreMeshConfig = `
apiVersion: config.openservicemesh.io/v1alpha1
kind: MeshConfig
metadata: {name: osm-mesh-config, namespace: bookstore}
spec:
  traffic: {enableEgress: false, enablePermissiveTrafficPolicyMode: true}
  certificate: {serviceCertValidityDuration: 24h}
`

// bookstorePolicies are the policies of OSM's documentation, as they are published.
const bookstorePolicies = `
kind: TrafficTarget
apiVersion: access.smi-spec.io/v1alpha3
metadata:
  name: bookstore
  namespace: bookstore
spec:
  destination:
    kind: ServiceAccount
    name: bookstore
    namespace: bookstore
  rules:
  - kind: HTTPRouteGroup
    name: bookstore-service-routes
    matches:
    - buy-a-book
    - books-bought
  sources:
  - kind: ServiceAccount
    name: bookbuyer
    namespace: bookbuyer
---
kind: TrafficTarget
apiVersion: access.smi-spec.io/v1alpha3
metadata:
  name: bookstore-v2
  namespace: bookstore
spec:
  destination:
    kind: ServiceAccount
    name: bookstore-v2
    namespace: bookstore
  rules:
  - kind: HTTPRouteGroup
    name: bookstore-service-routes
    matches:
    - buy-a-book
    - books-bought
  sources:
  - kind: ServiceAccount
    name: bookbuyer
    namespace: bookbuyer
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata:
  name: bookstore-service-routes
  namespace: bookstore
spec:
  matches:
  - name: books-bought
    pathRegex: /books-bought
    methods:
    - GET
    headers:
    - "user-agent": ".*-http-client/*.*"
    - "client-app": "bookbuyer"
  - name: buy-a-book
    pathRegex: ".*a-book.*new"
    methods:
    - GET
---
kind: TrafficTarget
apiVersion: access.smi-spec.io/v1alpha3
metadata:
  name: bookstore-access-bookwarehouse
  namespace: bookwarehouse
spec:
  destination:
    kind: ServiceAccount
    name: bookwarehouse
    namespace: bookwarehouse
  rules:
  - kind: HTTPRouteGroup
    name: bookwarehouse-service-routes
    matches:
    - restock-books
  sources:
  - kind: ServiceAccount
    name: bookstore
    namespace: bookstore
  - kind: ServiceAccount
    name: bookstore-v2
    namespace: bookstore
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata:
  name: bookwarehouse-service-routes
  namespace: bookwarehouse
spec:
  matches:
    - name: restock-books
      methods:
      - POST
      headers:
      - host: bookwarehouse.bookwarehouse
---
kind: TrafficTarget
apiVersion: access.smi-spec.io/v1alpha3
metadata:
  name: mysql
  namespace: bookwarehouse
spec:
  destination:
    kind: ServiceAccount
    name: mysql
    namespace: bookwarehouse
  rules:
  - kind: TCPRoute
    name: mysql
  sources:
  - kind: ServiceAccount
    name: bookwarehouse
    namespace: bookwarehouse
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: TCPRoute
metadata:
  name: mysql
  namespace: bookwarehouse
spec:
  matches:
    ports:
    - 3306
`

// bookstoreSplit returns the TrafficSplit of OSM's documentation with weights.
func bookstoreSplit(v1, v2 int) string {
	return fmt.Sprintf(`
apiVersion: split.smi-spec.io/v1alpha2
kind: TrafficSplit
metadata:
  name: bookstore-split
  namespace: bookstore
spec:
  service: bookstore.bookstore
  backends:
  - service: bookstore
    weight: %d
  - service: bookstore-v2
    weight: %d
`, v1, v2)
}
