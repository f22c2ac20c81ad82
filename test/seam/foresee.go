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

// foresee says how often a request is tried, and what the client gets, when the destination answers by the line's script and
// the mesh does what was decided.
func foresee(d model.Decision, l Line) (tries int, status string) {
	own := func(http, grpc string) string { // an answer that the sidecar makes
		if l.Request.Protocol == model.GRPC {
			return grpc
		}
		return http
	}
	switch d.Outcome {
	case model.NotFound:
		return 0, own("404", "unimplemented")
	case model.Malformed:
		return 0, own("400", "internal")
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
		again := false
		switch {
		case limit > 0 && spent > limit:
			return try, own("504", "deadline-exceeded")
		case late:
			a.Status, again = own("504", "deadline-exceeded"), slices.Contains(d.Retry.On, model.RetryReset)
		case a.Reset:
			a.Status, again = own("503", "unavailable"), slices.Contains(d.Retry.On, model.RetryReset)
		case l.Request.Protocol == model.GRPC:
			again = a.Status != "ok" && slices.Contains(d.Retry.On, model.RetryCause(a.Status))
		default:
			code, _ := strconv.ParseUint(a.Status, 10, 16)
			again = slices.Contains(d.Retry.StatusCodes, uint16(code))
		}
		if !again || uint32(try) > d.Retry.Retries {
			return try, a.Status
		}
	}
}
