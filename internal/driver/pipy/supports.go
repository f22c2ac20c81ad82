package pipy

import "anymesh.dev/anymesh/model"

// Supports lists the features of the model that this driver supports.
func (Driver) Supports() map[model.Feature]bool {
	supported := map[model.Feature]bool{
		"egress.Allow": true, "egress.Deny": true, "egress.names": true, "egress.addresses": true,
		"egress.serverNames": true, "egress.ports": true, "authorization": true, "authorization.ingress": true, "destination.tls": true,
		"listener.tls.Strict": true, "listener.tls.Permissive": true, model.SecretFeature(model.ProviderMesh): true,
		"route.weights": true, "route.match.method": true, "route.retry.status": true, "route.retry.backoff": true,
		model.DiscoveryFeature(model.DiscoverDNS): true, model.DiscoveryFeature(model.DiscoverInstances): true,
	}
	for _, p := range []model.Protocol{model.HTTP, model.HTTP2, model.GRPC, model.TCP} {
		supported[model.ListenerFeature(p)] = true
		supported[model.DestinationFeature(p)] = true
	}
	for _, c := range []model.RetryCondition{model.RetryReset, model.RetryConnectFailure, model.RetryRefusedStream} {
		supported["route.retry."+model.Feature(c)] = true
	}
	for _, k := range []model.MatchKind{model.Exact, model.Prefix, model.PathPrefix, model.Suffix, model.Regex} {
		supported["route.match.path."+model.Feature(k)] = true
	}
	for _, k := range []model.MatchKind{model.Exact, model.Prefix, model.Suffix, model.Regex, model.Present} {
		supported["route.match.header."+model.Feature(k)] = true
	}
	return supported
}
