package envoy

import (
	"testing"
)

// Envoy reads the backoff of the ADS stream only from envoy_grpc. It ignores the retry_policy of the GrpcService.
func TestRetryBackoffIsSetOnEnvoyGrpc(t *testing.T) {
	service := bootstrap(proxy{node: "node", host: "host", port: 1}).GetDynamicResources().GetAdsConfig().GetGrpcServices()[0]
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
