package envoy

import (
	"testing"

	"anymesh.dev/anymesh/model"
)

// For streams to the control plane, Envoy reads the pauses inside envoy_grpc. A field of the same name and type around
// it is accepted, and ignored.
func TestRetryBackoffIsSetOnEnvoyGrpc(t *testing.T) {
	service := bootstrap(model.Workload{}, "node", "host", 1).GetDynamicResources().GetAdsConfig().GetGrpcServices()[0]
	pauses := service.GetEnvoyGrpc().GetRetryPolicy().GetRetryBackOff()
	first, longest := pauses.GetBaseInterval().AsDuration(), pauses.GetMaxInterval().AsDuration()
	if first != retryBaseInterval ||
		longest != retryMaxInterval {
		t.Errorf("pauses from %v to %v", first, longest)
	}
	if service.GetRetryPolicy() != nil {
		t.Error("there are pauses that Envoy ignores")
	}
}
