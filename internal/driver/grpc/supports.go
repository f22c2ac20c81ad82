package grpc

import "anymesh.dev/anymesh/model"

// Supports lists the features of the model that this driver supports. Nothing is captured, so that the application
// reaches what is not declared, too.
func (Driver) Supports() map[model.Feature]bool {
	supported := map[model.Feature]bool{
		"egress.Allow": true, "route.weights": true, "route.timeout": true, "authorization": true,
		"route.retry.status":  true,
		"listener.tls.Strict": true, "destination.tls": true, model.SecretFeature(model.ProviderMesh): true,
		model.ListenerFeature(model.GRPC): true, model.DestinationFeature(model.GRPC): true,
		model.DiscoveryFeature(model.DiscoverInstances): true, model.DiscoveryFeature(model.DiscoverDNS): true,
	}
	for _, k := range []model.MatchKind{
		model.Exact, model.Prefix, model.Suffix, model.Regex, model.Range, model.Present,
	} {
		supported["route.match.header."+model.Feature(k)] = true
	}
	for _, k := range []model.MatchKind{model.Exact, model.Prefix, model.Regex} {
		supported["route.match.path."+model.Feature(k)] = true
	}
	for cause := range retryOn {
		supported["route.retry."+model.Feature(cause)] = true
	}
	return supported
}

// retryOn are the failures that gRPC libraries retry (gRFC A44), each with the status that a call has then.
var retryOn = map[model.RetryCondition]model.RetryCondition{
	model.RetryGRPCCanceled:          model.RetryGRPCCanceled,
	model.RetryGRPCDeadlineExceeded:  model.RetryGRPCDeadlineExceeded,
	model.RetryGRPCInternal:          model.RetryGRPCInternal,
	model.RetryGRPCResourceExhausted: model.RetryGRPCResourceExhausted,
	model.RetryGRPCUnavailable:       model.RetryGRPCUnavailable,
	model.RetryConnectFailure:        model.RetryGRPCUnavailable,
	model.RetryRefusedStream:         model.RetryGRPCUnavailable,
	model.RetryReset:                 model.RetryGRPCUnavailable,
}

// unavailableStatus are the HTTP statuses that gRPC libraries take for UNAVAILABLE.
var unavailableStatus = map[uint16]bool{429: true, 502: true, 503: true, 504: true}
