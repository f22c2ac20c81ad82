package explain

import (
	"fmt"

	"anymesh.dev/anymesh/model"
)

// Failure is what a client gets if its request does not reach an application. One field is set.
type Failure struct {
	// Status is an HTTP status. For gRPC, GRPCStatus is the name of the status.
	Status     int    `json:"status,omitempty"`
	GRPCStatus string `json:"grpcStatus,omitempty"`
	// Error is why there is no response.
	Error ClientError `json:"error,omitempty"`
}

// ClientError is why a client gets no response.
type ClientError string

const (
	// ConnectionReset means that the connection is closed without a byte.
	ConnectionReset ClientError = "connection reset"
	// TLSError means that the handshake fails, because the response to it is not TLS.
	TLSError ClientError = "TLS error"
	// NoConnection means that the client cannot connect.
	NoConnection ClientError = "failed connection"
	// UnknownHost means that the host name does not resolve.
	UnknownHost ClientError = "unknown host"
)

// String describes the failure.
func (f Failure) String() string {
	switch {
	case f.GRPCStatus != "":
		return "gRPC status " + f.GRPCStatus
	case f.Status != 0:
		return fmt.Sprintf("status %d", f.Status)
	}
	return "a " + string(f.Error)
}

// grpcStatuses are the gRPC statuses for the HTTP statuses of sidecars.
var grpcStatuses = map[int]string{400: "INTERNAL", 403: "PERMISSION_DENIED", 404: "UNIMPLEMENTED", 503: "UNAVAILABLE"}

// failureOf returns the failure of a request with an outcome; nil if the request goes on, or is redirected.
func failureOf(o model.Outcome, client model.Request) *Failure {
	status := map[model.Outcome]int{
		model.NotFound: 404, model.Malformed: 400, model.NotHTTP: 400, model.Denied: 403, model.Unavailable: 503,
		model.Overflow: 503, model.RateLimited: 429,
	}[o]
	switch {
	case o == model.NotHTTP && client.ServerName != "":
		return &Failure{Error: TLSError}
	case o == model.NotHTTP:
		return &Failure{Status: status}
	case o == model.Refused, status != 0 && !client.Protocol.Requests():
		return &Failure{Error: ConnectionReset}
	case status == 0:
		return nil
	case client.Protocol == model.GRPC:
		return &Failure{GRPCStatus: grpcStatuses[status]}
	}
	return &Failure{Status: status}
}

// failure returns what the client gets; nil if the receiver gets the request. If the connection between the sidecars
// fails, the sidecar of the sender responds.
func (r Receiver) failure(client model.Request) *Failure {
	switch {
	case r.TLS != nil && r.TLS.Refused:
		return failureOf(model.Unavailable, client)
	case r.InboundDecision == nil:
		return nil
	case r.InboundDecision.Outcome == model.Refused, r.InboundDecision.Outcome == model.NotHTTP && r.TLS != nil:
		return failureOf(model.Unavailable, client)
	}
	return failureOf(r.InboundDecision.Outcome, client)
}
