package envoy

import "anymesh.dev/anymesh/model"

// Supports lists the features of the model that this driver supports.
func (Driver) Supports() map[model.Feature]bool {
	supported := map[model.Feature]bool{
		"egress.Allow": true, "egress.Deny": true, "egress.names": true,
		"egress.addresses": true, "egress.serverNames": true, "egress.ports": true,
		"listener.timeout": true, "route.timeout": true, "route.weights": true,
		"route.match.method": true, "route.match.scheme": true, "route.retry.status": true, "route.retry.backoff": true,
		"route.rewrite": true, "route.match.host": true, "route.service": true, "listener.router": true,
		"route.redirect": true, "route.clients": true, "listener.services": true, "listener.tls.hosts": true, "gateway.trustedHops": true,
		"accessLog": true, "accessLog.text": true, "accessLog.json": true,
		"authorization": true, "authorization.ingress": true, "listener.tls.Strict": true, "listener.tls.Permissive": true, "destination.tls": true,
		"destination.sendTimeout": true, "destination.limits": true,
		"listener.rateLimit.connections": true, "listener.rateLimit.requests": true, "listener.requestsPerConnection": true,
		"listener.circuitBreaker": true, "listener.healthCheck": true, "outlierDetection": true, "panicThreshold": true,
		model.SecretFeature(model.ProviderMesh): true, model.SecretFeature(model.ProviderSocket): true,
		model.SecretFeature(model.ProviderKubernetes): true,
	}
	for _, p := range []model.Protocol{model.HTTP, model.HTTP2, model.GRPC, model.TCP} {
		supported[model.ListenerFeature(p)] = true
		supported[model.DestinationFeature(p)] = true
		supported[model.HealthCheckFeature(p)] = true
	}
	for _, k := range []model.DiscoveryKind{
		model.DiscoverDNS, model.DiscoverDNSEndpoints, model.DiscoverInstances, model.DiscoverStatic,
	} {
		supported[model.DiscoveryFeature(k)] = true
	}
	for _, k := range []model.MatchKind{
		model.Exact, model.Prefix, model.Suffix, model.Regex, model.Range, model.Present,
	} {
		supported["route.match.header."+model.Feature(k)] = true
		supported["route.match.query."+model.Feature(k)] = k != model.Range
	}
	for _, k := range []model.MatchKind{model.Exact, model.Prefix, model.Regex, model.PathPrefix} {
		supported["route.match.path."+model.Feature(k)] = true
	}
	for cause := range retryOn {
		supported["route.retry."+model.Feature(cause)] = true
	}
	return supported
}
