package identity

import "fmt"

// Reason says why a token got nothing. The set is fixed: reasons are labels of a metric.
type Reason string

// What a token can lack.
const (
	TokenMissing      Reason = "TokenMissing"
	TokenNotAccepted  Reason = "TokenNotAccepted" // expired, forged, of another cluster, or of a pod that the API server knows to be gone
	ForeignAudience   Reason = "ForeignAudience"
	NotServiceAccount Reason = "NotServiceAccount"
	NotBoundToPod     Reason = "NotBoundToPod"
	InvalidNames      Reason = "InvalidNames"
	PodNotFound       Reason = "PodNotFound"
	PodReplaced       Reason = "PodReplaced"
	AccountMismatch   Reason = "AccountMismatch"
	NodeMismatch      Reason = "NodeMismatch"
	PodFinished       Reason = "PodFinished"
)

// refusal is ErrUnauthenticated or ErrDenied, with the reason.
type refusal struct {
	kind   error
	reason Reason
	text   string
}

func refuse(kind error, reason Reason, format string, args ...any) error {
	return &refusal{kind: kind, reason: reason, text: fmt.Sprintf(format, args...)}
}

func (r *refusal) Error() string { return r.kind.Error() + ": " + r.text }
func (r *refusal) Unwrap() error { return r.kind }
