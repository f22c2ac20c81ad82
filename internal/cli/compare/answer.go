package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/explain"
	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/model"
)

// answer returns the facts of an explained request.
func (s *Side) answer(p party, a explain.Result) []fact {
	d := a.Decision
	aspect, failure := Result, failureOf(a)
	if a.Inbound && !p.gateway {
		aspect = Access
	}
	out := []fact{{aspect, result(a, failure), deciding(d)}}
	if failure != "" {
		out = append(out, fact{Failure, failure, deciding(d)})
	}
	if a.Inbound && failure == "" {
		out = append(out, fact{Limits, s.listenerLimits(p, a.Request), model.Origin{}})
		if d.Outcome == model.ToApplication {
			out = append(out, fact{Timeouts, phrases.Timeouts(d.Timeouts), deciding(d)})
		}
	}
	if d.Outcome != model.Forwarded || failure != "" {
		return out
	}
	return append(out, s.forwarded(p, a)...)
}

// forwarded returns the facts of a request that the sidecar forwards.
func (s *Side) forwarded(p party, a explain.Result) []fact {
	view, d := s.view(p), a.Decision
	retry := d.Retry
	if retry.Retries == 0 {
		retry = model.Retry{PerTry: retry.PerTry}
	}
	out := []fact{
		{Destinations, s.destinations(a), deciding(d)},
		{Protocol, each(a.Targets, func(t explain.Target) string { return string(t.Protocol) }), model.Origin{}},
		{TLS, tls(view, a), model.Origin{}},
		{Timeouts, timeouts(a), deciding(d)},
		{Balancing, balancing(view, a), model.Origin{}},
		{Limits, limits(view, a), model.Origin{}},
	}
	if a.Request.Protocol.Requests() {
		out = append(out, fact{Forwarded, changes(a.Request, d.Request), deciding(d)},
			fact{Retries, phrases.Retry(retry), deciding(d)})
	}
	return out
}

// result says whether a request is delivered.
func result(a explain.Result, failure string) string {
	switch d := a.Decision; {
	case failure != "":
		return "fails"
	case d.Outcome == model.Redirected:
		return fmt.Sprintf("redirected with status %d to %s", d.StatusCode, d.Location)
	case d.Outcome == model.PassedThrough, d.Outcome == model.Resolved:
		return "leaves the mesh"
	}
	return "delivered"
}

// failureOf describes what the client gets if no destination gets the request. It is empty if one does.
func failureOf(a explain.Result) string {
	if a.Failure != nil {
		return a.Failure.String()
	}
	var failures []string
	for _, t := range a.Targets {
		if t.Failure != nil {
			failures = append(failures, t.Failure.String())
		}
		for _, r := range t.Receivers {
			if r.Failure == nil {
				return ""
			}
			failures = append(failures, r.Failure.String())
		}
	}
	slices.Sort(failures)
	return strings.Join(slices.Compact(failures), " or ")
}

// deciding returns the field that decides: that of the route, or else of the last step.
func deciding(d model.Decision) model.Origin {
	for _, step := range slices.Backward(d.Steps) {
		if d.Route != "" && step.Text == "route "+d.Route+" matches" {
			return step.Origin
		}
	}
	if len(d.Steps) == 0 {
		return model.Origin{}
	}
	return d.Steps[len(d.Steps)-1].Origin
}

// destinations describes who gets the request, by pod, with the shares.
func (s *Side) destinations(a explain.Result) string {
	shares := map[string]float64{}
	for _, t := range a.Targets {
		if t.Failure != nil || len(t.Receivers) == 0 {
			shares["no endpoint"] += t.Share
		}
		for _, r := range t.Receivers {
			failure := ""
			if r.Failure != nil {
				failure = ", which refuses it"
			}
			port := ""
			if r.Port != 0 {
				port = fmt.Sprintf(":%d", r.Port)
			}
			names := s.receiverNames(t, r)
			for _, name := range names {
				shares[name+port+failure] += t.Share * r.Share / float64(len(names))
			}
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		lines = append(lines, fmt.Sprintf("%.1f%% %s", 100*shares[name], name))
	}
	return strings.Join(lines, "\n")
}

// receiverNames names the pods of a receiver, one by one, or what else it is.
func (s *Side) receiverNames(t explain.Target, r explain.Receiver) []string {
	var out []string
	for _, pod := range r.Pods {
		out = append(out, s.podName(pod))
	}
	switch w, known := s.state.Index.Workload(r.Workload); {
	case len(out) > 0:
		return out
	case known:
		return []string{s.party("", w).object}
	case r.Service != "":
		return []string{"Service " + r.Service}
	case t.Found.Hostname != "":
		return []string{t.Found.Hostname}
	case len(t.Found.Addresses) > 0:
		for _, a := range t.Found.Addresses {
			out = append(out, cmp.Or(a.Host, a.Socket))
		}
		return out
	}
	return []string{t.Destination}
}

// changes describes how the request that the destinations get differs from that of the client.
func changes(before, after model.Request) string {
	var out []string
	if before.Host != after.Host {
		out = append(out, "host "+after.Host)
	}
	if before.Path != after.Path {
		out = append(out, changedPath(before.Path, after.Path))
	}
	for _, h := range after.Headers {
		if !slices.Contains(before.Headers, h) {
			out = append(out, "header "+strings.ToLower(h.Name)+": "+h.Value)
		}
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(out, "\n"), "unchanged")
}

// changedPath describes the change of a path, without its end that does not change: equal for all paths with a prefix.
func changedPath(before, after string) string {
	n := 0
	for n < len(before) && n < len(after) && before[len(before)-1-n] == after[len(after)-1-n] {
		n++
	}
	rest := ""
	if n > 0 {
		rest = "…"
	}
	return fmt.Sprintf("path %s%s becomes %s%s", before[:len(before)-n], rest, after[:len(after)-n], rest)
}

// each describes all targets, with each description once.
func each(targets []explain.Target, describe func(explain.Target) string) string {
	var out []string
	for _, t := range targets {
		if text := describe(t); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(out, "\n"), "none")
}

func tls(v *model.View, a explain.Result) string {
	return each(a.Targets, func(t explain.Target) string {
		required := ""
		if d, _ := v.Destination(t.Destination); d.TLS != nil && d.TLS.Required {
			required = "; required"
		}
		var out []string
		for _, r := range t.Receivers {
			text := "no TLS"
			if r.TLS != nil {
				text = strings.Join(r.TLS.Steps, "; ") + required
			}
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
		return strings.Join(out, "\n")
	})
}

func timeouts(a explain.Result) string {
	return each(a.Targets, func(t explain.Target) string {
		var out []string
		for _, r := range t.Receivers {
			text := phrases.Timeouts(r.Limits.Timeouts)
			if r.Limits.Unanswered > 0 {
				text += ", without a response " + phrases.Duration(r.Limits.Unanswered)
			}
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
		return strings.Join(out, "\n")
	})
}

func balancing(v *model.View, a explain.Result) string {
	return each(a.Targets, func(t explain.Target) string {
		d, _ := v.Destination(t.Destination)
		out := phrases.Health(d)
		if d.Balance.Policy == model.ConsistentHash {
			out = append(out, "a hash of "+d.Balance.HashKey+" chooses the endpoint")
		}
		return strings.Join(out, "; ")
	})
}

func limits(v *model.View, a explain.Result) string {
	return each(a.Targets, func(t explain.Target) string {
		d, _ := v.Destination(t.Destination)
		var out []string
		if d.Limits != nil {
			out = append(out, d.Limits.String())
		}
		if d.SendTimeout > 0 {
			out = append(out, "broken if nothing is accepted for "+phrases.Duration(d.SendTimeout))
		}
		return strings.Join(out, "; ")
	})
}

// listenerLimits describes the limits of the listener that apply to a request.
func (s *Side) listenerLimits(p party, r model.Request) string {
	var out []string
	for _, in := range s.view(p).Inbound {
		l := in.Listener
		if l.Port != r.Port {
			continue
		}
		if text := phrases.CircuitBreaker(l.CircuitBreaker); text != "" {
			out = append(out, "at most "+text)
		}
		if l.ConnectionRate != nil {
			out = append(out, "connections: "+l.ConnectionRate.String())
		}
		for _, rate := range l.RequestRates {
			if rate.Match.Matches(r) {
				out = append(out, fmt.Sprintf("requests: %s, then status %d", rate.Limit, rate.StatusCode))
				break
			}
		}
	}
	return cmp.Or(strings.Join(out, "; "), "none")
}
