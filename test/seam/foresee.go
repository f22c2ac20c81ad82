package seam

import (
	"slices"
	"strconv"
	"time"

	"anymesh.dev/anymesh/model"
)

// grpcCodes are the gRPC status codes that cases speak of, by the names that retry policies have for them.
var grpcCodes = map[string]int{
	"cancelled": 1, "deadline-exceeded": 4, "not-found": 5, "resource-exhausted": 8, "unimplemented": 12, "internal": 13, "unavailable": 14,
}

// end is how a request ends.
type end struct {
	// tries is how often the request is sent on.
	tries int
	// status is what the client gets; own tells that the sidecar says so, and not who it was sent to.
	status string
	own    bool
}

// foresee says how a request ends when the destination answers by the line's script and the mesh does what was decided.
func foresee(d model.Decision, l Line) end {
	own := func(tries int, http, grpc string) end { // an answer that the sidecar makes
		if l.Request.Protocol == model.GRPC {
			return end{tries, grpc, true}
		}
		return end{tries, http, true}
	}
	switch d.Outcome {
	case model.NotFound:
		return own(0, "404", "unimplemented")
	case model.Malformed:
		return own(0, "400", "internal")
	}
	var spent time.Duration
	for try := 1; ; try++ {
		a := answer(l.Answers, try, l.Request.Protocol)
		limit, perTry := time.Duration(d.Timeouts.Request), time.Duration(d.Retry.PerTry)
		late := perTry > 0 && a.After > perTry
		if late {
			a.After = perTry
		}
		spent += a.After
		e := end{try, a.Status, false}
		var again bool
		switch {
		case limit > 0 && spent > limit:
			return own(try, "504", "unavailable")
		case late:
			e, again = own(try, "504", "unavailable"), slices.Contains(d.Retry.On, model.RetryReset)
		case a.Reset:
			e, again = own(try, "503", "unavailable"), slices.Contains(d.Retry.On, model.RetryReset)
		case l.Request.Protocol == model.GRPC:
			again = a.Status != "ok" && slices.Contains(d.Retry.On, model.RetryCause(a.Status))
		default:
			code, _ := strconv.ParseUint(a.Status, 10, 16)
			again = slices.Contains(d.Retry.StatusCodes, uint16(code))
		}
		if !again || uint32(try) > d.Retry.Retries {
			return e
		}
	}
}
