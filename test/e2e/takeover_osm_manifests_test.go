package e2e

import (
	"fmt"
	"strings"
)

// osmInjector injects sidecars as the injector of Open Service Mesh does: an init container with packet rules, a
// container with the name envoy and its user, a Secret with its configuration and certificates, and probes through the
// sidecar. In addition, the sidecar has a preStop hook: those of OSM end before their applications, and requests fail
// in each restart, whatever takes the pods over.
const osmInjector = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: osm-injector}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {openservicemesh.io/monitored-by: osm}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  variables:
  - {name: annotations, expression: "has(object.metadata.annotations) ? object.metadata.annotations : {}"}
  - {name: inbound, expression: "variables.annotations[?'openservicemesh.io/inbound-port-exclusion-list'].orValue('15000')"}
  - {name: outbound, expression: "variables.annotations[?'openservicemesh.io/outbound-port-exclusion-list'].orValue('15000')"}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: |
        [
          JSONPatch{op: "add", path: "/metadata/labels/osm-proxy-uuid", value: "1b1a0b1c-0000-4000-8000-000000000000"},
          JSONPatch{op: "add", path: "/spec/volumes/-", value: Object.spec.volumes{
            name: "envoy-bootstrap-config-volume",
            secret: Object.spec.volumes.secret{secretName: "envoy-bootstrap-config-" + object.spec.serviceAccountName}
          }},
          JSONPatch{op: "add", path: "/spec/initContainers", value: []},
          JSONPatch{op: "add", path: "/spec/initContainers/-", value: Object.spec.initContainers{
            name: "osm-init", image: "anymesh.dev/anymesh", command: ["anymesh", "capture"],
            env: [
              Object.spec.initContainers.env{name: "ANYMESH_CAPTURE_ENABLED", value: "1"},
              Object.spec.initContainers.env{name: "ANYMESH_CAPTURE_UID", value: "1500"},
              Object.spec.initContainers.env{name: "ANYMESH_CAPTURE_INBOUND_PORT", value: "15003"},
              Object.spec.initContainers.env{name: "ANYMESH_CAPTURE_OUTBOUND_PORT", value: "15001"},
              Object.spec.initContainers.env{name: "ANYMESH_CAPTURE_APP_PORTS", value: "*"},
              Object.spec.initContainers.env{name: "ANYMESH_CAPTURE_OPEN_PORTS", value: "15901," + variables.inbound},
              Object.spec.initContainers.env{name: "ANYMESH_CAPTURE_EXCLUDED_PORTS", value: variables.outbound}
            ],
            securityContext: Object.spec.initContainers.securityContext{
              runAsUser: 0,
              capabilities: Object.spec.initContainers.securityContext.capabilities{add: ["NET_ADMIN"]}
            }
          }},
          JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{
            name: "envoy", image: "anymesh.dev/envoy", command: ["envoy"],
            args: ["--log-level", "error", "--config-path", "/etc/envoy/bootstrap.yaml"],
            securityContext: Object.spec.containers.securityContext{runAsUser: 1500},
            volumeMounts: [Object.spec.containers.volumeMounts{name: "envoy-bootstrap-config-volume", mountPath: "/etc/envoy"}],
            lifecycle: Object.spec.containers.lifecycle{
              preStop: Object.spec.containers.lifecycle.preStop{sleep: Object.spec.containers.lifecycle.preStop.sleep{seconds: 6}}
            }
          }},
          JSONPatch{op: "replace", path: "/spec/containers/0/readinessProbe/httpGet/port", value: 15901}
        ]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: osm-injector}
spec: {policyName: osm-injector}
`

// takenOver is a namespace of Open Service Mesh, with a server and its clients, and a client outside of the mesh. The
// API server and this client call port 8080 of the clients in the mesh, which is excluded from capture.
var takenOver = `
apiVersion: v1
kind: Namespace
metadata: {name: books, labels: {openservicemesh.io/monitored-by: osm}, annotations: {openservicemesh.io/sidecar-injection: enabled}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: outside}}
---
apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: {name: osm-mesh-config, namespace: osm-system}
spec: {traffic: {enablePermissiveTrafficPolicyMode: false, enableEgress: false}}
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: {name: bookstore, namespace: books}
spec: {matches: [{name: buy, pathRegex: /, methods: [GET]}]}
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: {name: bookstore, namespace: books}
spec:
  destination: {kind: ServiceAccount, name: bookstore, namespace: books}
  rules: [{kind: HTTPRouteGroup, name: bookstore, matches: [buy]}]
  sources: [{kind: ServiceAccount, name: bookbuyer, namespace: books}]
` + takenOverApp("books", "bookstore", 2, 80, 9080, "serve, --listen=:9080, --version=v1", "") +
	takenOverApp("books", "bookbuyer", 2, 8080, 8080, "drive, --listen=:8080, --rate=0", `openservicemesh.io/inbound-port-exclusion-list: "8080"`) +
	takenOverApp("books", "bookthief", 1, 8080, 8080, "drive, --listen=:8080, --rate=0", `openservicemesh.io/inbound-port-exclusion-list: "8080"`) +
	takenOverApp("outside", "client", 1, 8080, 8080, "drive, --listen=:8080, --rate=0", "")

// takenOverApp is an application. Its preStop hook keeps it running until its clients know that it ends.
func takenOverApp(namespace, name string, replicas, port, target int, args, annotations string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name, "REPLICAS", fmt.Sprint(replicas),
		"TARGET", fmt.Sprint(target), "PORT", fmt.Sprint(port), "ARGS", args, "ANNOTATIONS", annotations).Replace(`
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: NAME, namespace: NAMESPACE}}
---
{apiVersion: v1, kind: Service, metadata: {name: NAME, namespace: NAMESPACE}, spec: {selector: {app: NAME}, ports: [{name: http, port: PORT, targetPort: TARGET}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}, annotations: {ANNOTATIONS}}
    spec:
      serviceAccountName: NAME
      containers:
      - name: app
        image: anymesh.dev/colors
        args: [ARGS]
        readinessProbe: {httpGet: {path: /healthz, port: TARGET}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 3}}}
`)
}

// osmBootstrap is the configuration of a sidecar of Open Service Mesh, whose application listens on a port.
const osmBootstrap = `
node: {id: ACCOUNT.books, cluster: ACCOUNT.books}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 15000}}}
dynamic_resources: {lds_config: {path_config_source: {path: /etc/envoy/lds.yaml, watched_directory: {path: /etc/envoy}}}}
static_resources:
  clusters:
  - name: local
    type: STATIC
    load_assignment:
      cluster_name: local
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: APPPORT}}}}]}]
  - name: books/bookstore
    type: ORIGINAL_DST
    lb_policy: CLUSTER_PROVIDED
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        common_http_protocol_options: {max_requests_per_connection: 1}
        explicit_http_config: {http_protocol_options: {}}
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: bookstore.books.svc.cluster.local
        common_tls_context:
          alpn_protocols: [osm]
          tls_certificates: [{certificate_chain: {filename: /etc/envoy/tls.crt}, private_key: {filename: /etc/envoy/tls.key}}]
          validation_context:
            trusted_ca: {filename: /etc/envoy/ca.crt}
            match_typed_subject_alt_names: [{san_type: DNS, matcher: {exact: bookstore.books.cluster.local}}]
`

// osmListeners are the listeners of a sidecar of Open Service Mesh. Members need TLS and the identity bookbuyer.
const osmListeners = `
resources:
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: inbound-listener
  address: {socket_address: {address: 0.0.0.0, port_value: 15003}}
  listener_filters:
  - {name: tls_inspector, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector}}
  filter_chains:
  - name: inbound-mesh-http-filter-chain
    filter_chain_match: {transport_protocol: tls, application_protocols: [osm]}
    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
        require_client_certificate: true
        common_tls_context:
          alpn_protocols: [osm]
          tls_certificates: [{certificate_chain: {filename: /etc/envoy/tls.crt}, private_key: {filename: /etc/envoy/tls.key}}]
          validation_context: {trusted_ca: {filename: /etc/envoy/ca.crt}}
    filters: [HTTP(local, RBAC)]
INGRESS- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: outbound-listener
  address: {socket_address: {address: 0.0.0.0, port_value: 15001}}
  listener_filters:
  - {name: original_dst, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.listener.original_dst.v3.OriginalDst}}
  filter_chains: [{filters: [HTTP(books/bookstore)]}]
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: readiness-probe-listener
  address: {socket_address: {address: 0.0.0.0, port_value: 15901}}
  filter_chains: [{filters: [HTTP(local)]}]
`

// osmIngressChain is what an IngressBackend adds to the inbound listener.
const osmIngressChain = `  - name: inbound-ingress-filter-chain
    filter_chain_match: {transport_protocol: raw_buffer, source_prefix_ranges: [{address_prefix: PREFIX, prefix_len: LENGTH}]}
    filters: [HTTP(local)]
`

// osmListenersOf returns the listeners, with an additional filter chain of the inbound one.
func osmListenersOf(ingress string) string {
	http := func(cluster, rbac string) string {
		return `{name: envoy.filters.network.http_connection_manager, typed_config: {
      "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager,
      stat_prefix: mesh, route_config: {virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: ` + cluster + `}}]}]},
      http_filters: [` + rbac + `{name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]}}`
	}
	const rbac = `{name: rbac, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC, rules: {policies: {
        bookstore: {permissions: [{any: true}], principals: [{authenticated: {principal_name: {exact: bookbuyer.books.cluster.local}}}]}}}}}, `
	return strings.NewReplacer("HTTP(local, RBAC)", http("local", rbac), "HTTP(local)", http("local", ""),
		"HTTP(books/bookstore)", http("books/bookstore", "")).Replace(strings.Replace(osmListeners, "INGRESS", ingress, 1))
}
