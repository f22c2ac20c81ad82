package native

import (
	"fmt"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
)

// The names of clusters that check a listener of a gateway. The checks of the latter decide the readiness of the pod.
const (
	healthCheckPrefix = "health-check/"
	readinessPrefix   = "readiness/"
)

// checkListener adds the cluster with which a gateway checks a listener. Its only endpoint is the listener, on the
// loopback address. No route uses the cluster: the results are its metrics.
func (r *renderer) checkListener(l model.Listener) {
	check := l.HealthCheck
	if check == nil {
		return
	}
	prefix := healthCheckPrefix
	if check.Readiness {
		prefix = readinessPrefix
	}
	of := config.Cluster{
		Name: fmt.Sprintf("%s%d", prefix, l.Port),
		Spec: config.ClusterSpec{
			Protocol: config.HTTP, Port: int(l.Port), HTTP2: check.Protocol.Multiplexed(), TLS: clientTLS(check.TLS),
		},
		Endpoints:   []config.Endpoint{{Spec: config.EndpointSpec{Address: loopback(r.view.Mesh)}}},
		HealthCheck: healthCheck(&check.HealthCheck),
		Limits:      config.Limits{ConnectTimeout: connectTimeout},
	}
	if of.Spec.TLS != nil && of.Spec.HTTP2 {
		of.Spec.TLS.ALPN = []string{"h2"} // a check over HTTP/2 does not fall back to HTTP/1.1
	}
	r.add(of.Name, &config.Config{Clusters: []config.Cluster{of}}, l.Origin)
}

// healthURL is where the agent asks for the results of the checks that decide the readiness of the pod; empty for a
// sidecar, which has none.
func healthURL(w model.Workload) string {
	if w.Role != model.RoleGateway {
		return ""
	}
	return fmt.Sprintf("http://127.0.0.1:%d/health?clusters=%s", defaultStatsPort, readinessPrefix)
}
