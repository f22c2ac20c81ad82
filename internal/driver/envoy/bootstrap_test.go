package envoy

import (
	"testing"
	"time"

	"anymesh.dev/anymesh/sidecar"
)

// Envoy reads the backoff of the ADS stream only from envoy_grpc. It ignores the retry_policy of the GrpcService.
func TestRetryBackoffIsSetOnEnvoyGrpc(t *testing.T) {
	service := bootstrap(proxy{node: "node"}).GetDynamicResources().GetAdsConfig().GetGrpcServices()[0]
	backoff := service.GetEnvoyGrpc().GetRetryPolicy().GetRetryBackOff()
	first, maximum := backoff.GetBaseInterval().AsDuration(), backoff.GetMaxInterval().AsDuration()
	if first != retryBaseInterval ||
		maximum != retryMaxInterval {
		t.Errorf("got backoff from %v to %v", first, maximum)
	}
	if service.GetRetryPolicy() != nil {
		t.Error("the GrpcService has a retry policy, which Envoy ignores")
	}
}

// Metrics are prepared when they are read, unless they are sent: Envoy accepts only one of both, and files may name
// receivers or an interval.
func TestStatsFlush(t *testing.T) {
	for name, c := range map[string]struct {
		settings sidecar.ProxySettings
		onRead   bool
		interval time.Duration // 0 for Envoy's default
	}{
		"default":      {sidecar.ProxySettings{}, true, 0},
		"interval":     {sidecar.ProxySettings{StatsFlushInterval: time.Second}, false, time.Second},
		"with Statsd":  {sidecar.ProxySettings{Statsd: &sidecar.Statsd{Address: "127.0.0.1", Port: 8125}}, false, 0},
		"with a file":  {sidecar.ProxySettings{ConfigFiles: []string{"/etc/stats.yaml"}}, false, 0},
		"Statsd, slow": {sidecar.ProxySettings{Statsd: &sidecar.Statsd{}, StatsFlushInterval: time.Minute}, false, time.Minute},
	} {
		out := bootstrap(proxy{node: "node", ProxySettings: c.settings})
		if out.GetStatsFlushOnAdmin() != c.onRead || out.GetStatsFlushInterval().AsDuration() != c.interval {
			t.Errorf("%s: got on read %t, interval %v", name, out.GetStatsFlushOnAdmin(), out.GetStatsFlushInterval())
		}
	}
}

// What Envoy has for each cluster and does not need before a request: metrics of its traffic, and its state in workers.
func TestClustersAreDeferred(t *testing.T) {
	out := bootstrap(proxy{node: "node"})
	stats, clusters := out.GetDeferredStatOptions(), out.GetClusterManager()
	if !stats.GetEnableDeferredCreationStats() || !clusters.GetEnableDeferredClusterCreation() {
		t.Errorf("got %v and %v", stats, clusters)
	}
}
