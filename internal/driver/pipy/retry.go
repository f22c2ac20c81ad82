package pipy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"anymesh.dev/anymesh/model"
)

// defaultBackoff is the longest time before the first retry of a route that has none.
const defaultBackoff = model.Duration(25 * time.Millisecond)

// retry returns the retries of a route; nil for none. What the scripts cannot do has findings: they keep a request to
// send it again only if its length is known, which that of a call is not, and see no difference between failures to get
// a response.
func (r *renderer) retry(p model.Protocol, route model.Route) *RetryPolicy {
	from := route.Action.Retry
	if from.Retries == 0 {
		return nil
	}
	at := from.Origin
	if at.IsZero() {
		at = route.Origin
	}
	limited := func(what string) {
		text := fmt.Sprintf("the driver %s %s", Name, what)
		r.findings = append(r.findings, model.NewFinding(at, model.CodeNotSupported, text))
	}
	if p == model.GRPC {
		limited("does not retry calls of gRPC")
		return nil
	}
	if from.PerTry > 0 {
		limited("does not limit the time of a try")
	}
	out := &RetryPolicy{
		RetryOn: from.StatusCodes, Reset: slices.Contains(from.Conditions, model.RetryReset), NumRetries: from.Retries,
		RetryBackoffBaseInterval: time.Duration(cmp.Or(from.Backoff, defaultBackoff)).Seconds(),
	}
	for _, c := range from.Conditions {
		if (c == model.RetryConnectFailure || c == model.RetryRefusedStream) && !out.Reset {
			limited(fmt.Sprintf("retries after %s only together with %s", c, model.RetryReset))
		}
	}
	if len(out.RetryOn) == 0 && !out.Reset {
		return nil
	}
	return out
}
