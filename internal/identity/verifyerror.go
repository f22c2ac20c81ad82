package identity

import "fmt"

// Reason is the reason why a token was rejected. The set is fixed: reasons are label values of a metric.
type Reason string

// Reasons of rejected tokens.
const (
	TokenMissing Reason = "TokenMissing"
	// expired, forged, of another cluster, or of a pod that no longer exists
	TokenNotAccepted  Reason = "TokenNotAccepted"
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

// verifyError wraps ErrUnauthenticated or ErrDenied and has the reason.
type verifyError struct {
	kind   error
	reason Reason
	text   string
}

func newVerifyError(kind error, reason Reason, format string, args ...any) error {
	return &verifyError{kind: kind, reason: reason, text: fmt.Sprintf(format, args...)}
}

func (r *verifyError) Error() string { return r.kind.Error() + ": " + r.text }
func (r *verifyError) Unwrap() error { return r.kind }
