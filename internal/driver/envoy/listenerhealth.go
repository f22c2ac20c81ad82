package envoy

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"anymesh.dev/anymesh/model"
)

// addHealthCheck adds the cluster with which a gateway checks a listener. Its only endpoint is the listener, on the
// loopback address. No route uses the cluster: the results are its metrics.
//
// The first check of a new Envoy fails, because Envoy creates its clusters before its listeners. So a new pod passes
// after as many checks as the healthy threshold.
func (r *renderer) addHealthCheck(l model.Listener) {
	check := l.HealthCheck
	if check == nil {
		return
	}
	name := listenerHealthCluster(r.view.Workload, l)
	cluster := &clusterv3.Cluster{
		Name:                          name,
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		ConnectTimeout:                durationpb.New(applicationConnectTimeout),
		LoadAssignment:                staticLoadAssignment(name, loopback(r.view.Mesh), uint32(l.Port)),
		HealthChecks:                  []*corev3.HealthCheck{healthCheck(&check.HealthCheck)},
		TypedExtensionProtocolOptions: protocolOptions(check.Protocol),
	}
	if check.TLS != nil {
		// The secrets are those of the listeners, if both have the same certificate.
		context, secrets := tlsContext("ingress", check.Protocol, check.TLS.Certificate, check.TLS.Validation, l.Origin)
		if check.Protocol.Multiplexed() {
			context.AlpnProtocols = []string{"h2"} // a check over HTTP/2 does not fall back to HTTP/1.1
		}
		cluster.TransportSocket = transportSocket(&tlsv3.UpstreamTlsContext{
			CommonTlsContext: context, Sni: check.TLS.ServerName,
		})
		r.addSecrets(secrets)
	}
	r.add(name, cluster, l.Origin)
}
