package explain

import (
	"slices"

	"anymesh.dev/anymesh/model"
)

// Limits end a request or a connection; 0 means no limit. Both sidecars have timeouts, and the first that expires ends
// it.
type Limits struct {
	model.Timeouts
	// Unanswered is the time after which a request without a response ends with status 504 (UNAVAILABLE for gRPC), and a
	// connection without data is closed.
	Unanswered model.Duration `json:"unanswered,omitzero"`
	// Attempts is the number of attempts until then.
	Attempts uint32 `json:"attempts,omitempty"`
}

// limitsOf returns the limits of a request with the decision of the sender, and of the receiver, which may be nil.
func limitsOf(d model.Decision, in *model.Decision, p model.Protocol) Limits {
	var there model.Timeouts
	if in != nil {
		there = in.Timeouts
	}
	out := Limits{Timeouts: model.Timeouts{
		Request: d.Timeouts.Request, Idle: shorter(d.Timeouts.Idle, there.Idle),
	}}
	if !p.Requests() {
		out.Unanswered = out.Idle
		return out
	}
	onTimeout := 1 // attempts
	if slices.Contains(d.Retry.StatusCodes, 504) {
		onTimeout += int(d.Retry.Retries)
	}
	out.Request = shorter(out.Request, times(there.Request, onTimeout))
	out.Unanswered, out.Attempts = unanswered(d, there, onTimeout)
	return out
}

// unanswered returns the time until a request without a response ends, and the number of attempts. The listener ends an
// attempt with status 504 after onTimeout attempts, the per-try timeout with a reset.
func unanswered(d model.Decision, there model.Timeouts, onTimeout int) (model.Duration, uint32) {
	attempt, attempts := shorter(there.Request, there.Idle), onTimeout
	if try := d.Retry.PerTry; try > 0 && shorter(try, attempt) == try && d.Retry.Retries > 0 {
		attempt, attempts = try, 1
		if slices.Contains(d.Retry.Conditions, model.RetryReset) {
			attempts += int(d.Retry.Retries)
		}
	}
	all := times(attempt, attempts)
	end := shorter(shorter(d.Timeouts.Request, d.Timeouts.Idle), all)
	if attempt > 0 && end < all {
		attempts = int((end + attempt - 1) / attempt)
	} else if attempt == 0 {
		attempts = 1
	}
	return end, uint32(attempts)
}

func times(d model.Duration, n int) model.Duration { return d * model.Duration(n) }

// shorter returns the shorter of two limits; 0 means no limit.
func shorter(a, b model.Duration) model.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
