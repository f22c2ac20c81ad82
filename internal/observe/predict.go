package observe

import (
	"slices"
	"strconv"
	"time"

	"anymesh.dev/anymesh/model"
)

// grpcCodes are the gRPC status codes of cases, by their names in retry policies.
var grpcCodes = map[string]int{
	"cancelled": 1, "deadline-exceeded": 4, "not-found": 5, "permission-denied": 7, "resource-exhausted": 8, "unimplemented": 12,
	"internal": 13, "unavailable": 14,
}

// Results of streams and of responses in several parts.
const (
	complete = "complete"
	broken   = "broken"
)

// end is the result of a request.
type end struct {
	// tries is the number of times that the request is forwarded.
	tries int
	// status is the status that the client gets; local is true for local responses of the sidecar.
	status string
	local  bool
	// after is the minimum duration.
	after time.Duration
}

// predict computes the result of a request from the decision of the interpreter and the responses of the destination.
func predict(d model.Decision, l Line) end {
	var spent time.Duration
	own := func(tries int, http, grpc string) end { // a local response of the sidecar
		if l.Request.Protocol == model.GRPC {
			if l.Library {
				grpc = libraryStatus(http, grpc)
			}
			return end{tries, grpc, true, spent}
		}
		return end{tries, http, true, spent}
	}
	switch d.Outcome {
	case model.NotFound:
		return own(0, "404", "unimplemented")
	case model.Denied:
		return own(0, "403", "permission-denied")
	case model.Malformed:
		return own(0, "400", "internal")
	case model.NotHTTP:
		return own(0, "400", "")
	case model.RateLimited, model.Redirected:
		return own(0, strconv.Itoa(int(d.StatusCode)), "unavailable")
	case model.Unavailable, model.Overflow:
		return own(0, "503", "unavailable")
	}
	if l.unreachable(d) {
		return own(0, "503", "unavailable")
	}
	limit, idle := time.Duration(d.Timeouts.Request), time.Duration(d.Timeouts.Idle)
	if !l.Request.Protocol.Requests() {
		a := responseOf(l.Responses, 1, l.Request.Protocol)
		return continueResponse(end{1, a.Status, false, 0}, append([]time.Duration{a.After}, a.Pauses...), limit, idle)
	}
	for try := 1; ; try++ {
		a := responseOf(l.Responses, try, l.Request.Protocol)
		perTry := time.Duration(d.Retry.PerTry)
		late := perTry > 0 && a.After > perTry
		if late {
			a.After = perTry
		}
		spent += a.After
		if cut := shorter(limit, idle); cut > 0 && spent > cut { // the response has not started yet
			spent = cut
			return own(try, "504", "unavailable")
		}
		e := end{try, a.Status, false, spent}
		var again bool
		switch {
		case late:
			e, again = own(try, "504", "unavailable"), slices.Contains(d.Retry.Conditions, model.RetryReset)
		case a.Reset:
			e, again = own(try, "503", "unavailable"), slices.Contains(d.Retry.Conditions, model.RetryReset)
		case l.Request.Protocol == model.GRPC:
			again = a.Status != "ok" && slices.Contains(d.Retry.Conditions, model.RetryCondition(a.Status))
		default:
			code, _ := strconv.ParseUint(a.Status, 10, 16)
			again = slices.Contains(d.Retry.StatusCodes, uint16(code))
		}
		if !again || uint32(try) > d.Retry.Retries {
			return continueResponse(e, a.Pauses, limit, idle)
		}
	}
}

// continueResponse applies the pauses of a response that has started. The idle timeout and the request timeout break
// it; the per-try timeout no longer applies.
func continueResponse(e end, pauses []time.Duration, limit, idle time.Duration) end {
	for _, pause := range pauses {
		next := e.after + pause
		cut := limit
		if idle > 0 {
			cut = shorter(limit, e.after+idle)
		}
		if cut > 0 && next > cut {
			return end{e.tries, broken, false, cut}
		}
		e.after = next
	}
	return e
}

// shorter returns the shorter of two limits; 0 means no limit.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
