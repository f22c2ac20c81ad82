package compare

import "anymesh.dev/anymesh/model"

// Aspect is a part of an answer.
type Aspect string

// The aspects of answers, in the order in which they are shown.
const (
	// Membership is whether a pod has a sidecar.
	Membership Aspect = "membership"
	// Result is whether the request is delivered, leaves the mesh, is redirected or fails.
	Result Aspect = "result"
	// Failure is what the client of a request that fails gets.
	Failure Aspect = "failure"
	// Access is which clients a workload or a gateway serves: with TLS or without, and with which certificates.
	Access Aspect = "access"
	// Destinations are the pods that get the request, with their shares.
	Destinations Aspect = "destinations"
	// Forwarded is how the request that they get differs from that of the client: host, path and headers.
	Forwarded Aspect = "request"
	// Protocol is the protocol of the connections to them.
	Protocol Aspect = "protocol"
	// TLS is how the sidecar connects to them.
	TLS Aspect = "tls"
	// Retries and Timeouts are those of both sidecars.
	Retries  Aspect = "retries"
	Timeouts Aspect = "timeouts"
	// Balancing is how an endpoint is chosen: hashes, health checks, outlier detection.
	Balancing Aspect = "balancing"
	// Limits are limits of connections and requests, and rates.
	Limits Aspect = "limits"
	// AccessLog is the access log of a workload.
	AccessLog Aspect = "access log"
	// TrustedHops is the number of proxies that a gateway trusts.
	TrustedHops Aspect = "trusted hops"
	// Features are the features that the driver does not support.
	Features Aspect = "not supported"
)

// Aspects lists all aspects.
func Aspects() []Aspect {
	return []Aspect{
		Membership, Result, Failure, Access, Destinations, Forwarded, Protocol, TLS, Retries, Timeouts, Balancing, Limits,
		AccessLog, TrustedHops, Features,
	}
}

// fact is an aspect of an answer, with the field that decides it, if that is known.
type fact struct {
	aspect Aspect
	value  string
	origin model.Origin
}
