package native

import "anymesh.dev/anymesh/model"

// Supports lists the features of the model that this driver supports.
func (Driver) Supports() map[model.Feature]bool {
	supported := map[model.Feature]bool{
		"egress.Allow": true, "egress.Deny": true, "egress.names": true, "accessLog": true, "accessLog.text": true, "accessLog.json": true, "destination.tls": true,
		"listener.tls.Strict": true, "listener.tls.Permissive": true, "listener.tls.hosts": true, model.SecretFeature(model.ProviderMesh): true,
		"listener.timeout": true, "listener.router": true, "balance.ConsistentHash": true,
		"route.match.method": true, "route.match.scheme": true, "route.match.host": true, "authorization": true, "authorization.ingress": true,
		"egress.addresses": true, "egress.ports": true, "egress.serverNames": true,
		"route.match.predicate": true, "route.chain": true, "route.weights": true, "route.conversion": true, "route.service": true, "route.clients": true, "listener.services": true, "gateway.trustedHops": true, "route.rewrite": true, "route.redirect": true,
		"route.rewrite.metadata": true, "route.timeout": true, "route.retry.status": true, "route.retry.pause": true, "route.retry.backoff": true,
		"outlierDetection": true, "panicThreshold": true, "destination.limits": true, "destination.sendTimeout": true, "listener.circuitBreaker": true, "listener.healthCheck": true, "listener.requestsPerConnection": true,
		"listener.rateLimit.connections": true, "listener.rateLimit.requests": true,
		model.DiscoveryFeature(model.DiscoverDNS): true, model.DiscoveryFeature(model.DiscoverDNSEndpoints): true,
		model.DiscoveryFeature(model.DiscoverInstances): true,
		model.DiscoveryFeature(model.DiscoverStatic):    true, model.DiscoveryFeature(model.DiscoverNone): true,
		"listener.track": true, "listener.endSessions": true,
		"discovery.Instances.weights": true, "discovery.Instances.addresses": true,
	}
	for p := range protocols {
		supported[model.ListenerFeature(p)] = true
		supported[model.DestinationFeature(p)] = true
	}
	for p := range localProtocols {
		supported[model.DestinationFeature(p)] = true
	}
	for p := range checks {
		supported[model.HealthCheckFeature(p)] = true
	}
	for _, k := range []model.MatchKind{
		model.Exact, model.Prefix, model.Suffix, model.Regex, model.Present, model.Range,
	} {
		supported["route.match.header."+model.Feature(k)] = true
		supported["route.match.query."+model.Feature(k)] = true
	}
	for _, k := range []model.MatchKind{model.Exact, model.Prefix, model.PathPrefix, model.Suffix, model.Regex} {
		supported["route.match.path."+model.Feature(k)] = true
	}
	for cause := range retryCauses {
		supported["route.retry."+model.Feature(cause)] = true
	}
	for cause := range retryStatuses {
		supported["route.retry."+model.Feature(cause)] = true
	}
	for _, cause := range []model.RetryCondition{model.RetryReset, model.RetryRefusedStream} {
		supported["route.retry."+model.Feature(cause)] = true
	}
	return supported
}
