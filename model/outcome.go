package model

// Outcome is the result of a decision.
type Outcome string

const (
	// Forwarded means that the request goes to one of the decision's targets.
	Forwarded Outcome = "Forwarded"
	// ToApplication means that the inbound request goes to the application.
	ToApplication Outcome = "ToApplication"
	// PassedThrough means that the connection goes unchanged to its original destination.
	PassedThrough Outcome = "PassedThrough"
	// Resolved means that the sidecar resolves the TLS server name and connects to its address, on the port of the
	// connection. The original destination address has no effect. The connection is closed if the name does not resolve.
	Resolved Outcome = "Resolved"
	// NotFound means that the response has status 404; for a gRPC call, UNIMPLEMENTED.
	NotFound Outcome = "NotFound"
	// Malformed means that the response has status 400, because the path has no canonical form.
	Malformed Outcome = "Malformed"
	// NotHTTP means that the sidecar decodes the connection as HTTP, and the client sends something else. It responds with
	// status 400 and closes the connection; for a client that uses TLS, the handshake fails.
	NotHTTP Outcome = "NotHTTP"
	// Redirected means that the response sends the client to Decision.Location.
	Redirected Outcome = "Redirected"
	// Refused means that the connection is reset.
	Refused Outcome = "Refused"
	// Denied means that the response has status 403; a stream without requests is reset.
	Denied Outcome = "Denied"
	// Unavailable means that the response has status 503, because no target has an endpoint that is ready and
	// healthy; a stream without requests is reset.
	Unavailable Outcome = "Unavailable"
	// Overflow means that the response has status 503, because the circuit breaker of the listener is open, or
	// because the limits of all targets are reached; a stream without requests is reset. Clients do not retry such a
	// response.
	Overflow Outcome = "Overflow"
	// RateLimited means that the response has Decision.StatusCode, because a rate limit of the listener is exhausted.
	RateLimited Outcome = "RateLimited"
)
