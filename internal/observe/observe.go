package observe

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"anymesh.dev/anymesh/model"
)

// deviations is the accepted deviation of a share in standard deviations. Random deviation exceeds it once in a
// million runs.
const deviations = 5

// maxCalls is the number of calls in which a gRPC library must reach all endpoints.
const maxCalls = 10_000

// timedAttempts is the number of attempts for lines with delays: on a busy machine, other timers expire as well.
const timedAttempts = 3

// timerTolerance is how early a timer may fire: Envoy updates its clock once per event loop iteration.
const timerTolerance = 50 * time.Millisecond

// observe sends the requests of a line and returns the differences from the decision.
func (p *pod) observe(ctx context.Context, l Line) []string {
	if l.HealthCheck {
		return p.observeHealth(ctx, l)
	}
	timed := slices.ContainsFunc(l.Responses, Response.timed)
	l = l.connecting(p.index, p.view)
	c, err := p.caller(l)
	if err != nil {
		return []string{err.Error()}
	}
	for attempt := 1; ; attempt++ {
		differences := p.once(ctx, l, c)
		if len(differences) == 0 || !timed || attempt == timedAttempts {
			return differences
		}
	}
}

func (p *pod) once(ctx context.Context, l Line, c *caller) []string {
	d := l.decide(p.view)
	release, err := p.occupy(ctx, l, d.Outcome != model.Overflow)
	if err != nil {
		return []string{err.Error()}
	}
	defer release()
	times := p.requestCount(l, d)
	count, at := map[string]int{}, map[string]int{}
	// A gRPC library calls the endpoint to which it connects first until it has connected to the others.
	connecting := func(sent int) bool { return l.Library && len(at) < p.addressCount(d) && sent < maxCalls }
	for sent := 0; sent < times || connecting(sent); sent++ {
		seen, err := c.send(ctx)
		if err != nil {
			return []string{err.Error()}
		}
		p.resolveInstance(d, &seen)
		if to, missing := p.missingShare(d); missing && observedResult(seen) == l.expectedResult(model.Decision{
			Outcome: model.Unavailable}) {
			count[to]++
			continue
		}
		if differences := l.compare(d, seen, p.counter.count(c.id())); len(differences) > 0 {
			return differences
		}
		count[seen.Server]++
		at[seen.At]++
	}
	switch {
	case l.Once:
		return nil
	case !l.unreachable(d) && len(at) < p.addressCount(d):
		return []string{fmt.Sprintf("%d requests reach %v, want all %d addresses", times, at, p.addressCount(d))}
	case len(d.Targets) < 2:
		return nil
	}
	return shares(d.Targets, count, times)
}

// requestCount returns the number of requests to send: enough to reach each destination, if there are several.
func (p *pod) requestCount(l Line, d model.Decision) int {
	switch {
	case l.unreachable(d), l.Once:
		return 1
	case p.addressCount(d) > 1:
		return 20
	case len(d.Targets) < 2:
		return 1
	}
	n := 400
	for _, t := range d.Targets {
		n = max(n, int(14/share(d.Targets, t))) // probability to miss one: e^-14
	}
	return n
}

// addressCount returns the number of addresses that requests to a single destination must reach.
func (p *pod) addressCount(d model.Decision) int {
	if d.Outcome != model.Forwarded || len(d.Targets) != 1 || d.Pod.IsValid() {
		return 0
	}
	to, _ := p.view.Destination(d.Targets[0].Destination)
	switch to.Discovery.Kind {
	case model.DiscoverDNSEndpoints:
		return endpoints
	case model.DiscoverInstances:
		return len(p.endpointsOf(to))
	}
	return 1
}

// missingShare returns the destination of a decision that stands for targets that do not exist.
func (p *pod) missingShare(d model.Decision) (string, bool) {
	for _, t := range d.Targets {
		if to, _ := p.view.Destination(t.Destination); to.Nowhere() {
			return t.Destination, true
		}
	}
	return "", false
}

// endpointsOf returns the endpoints of a destination.
func (p *pod) endpointsOf(d model.Destination) []model.Endpoint {
	reach, _ := p.index.ResolvedDestination(d.Key)
	return reach.Endpoints
}

// resolveInstance replaces the server name "instance" by the first target with an endpoint at the address of the
// server.
func (p *pod) resolveInstance(d model.Decision, seen *Observation) {
	if seen.Server != instance {
		return
	}
	at, err := netip.ParseAddrPort(seen.At)
	if err != nil {
		return
	}
	for _, t := range d.Targets {
		to, _ := p.view.Destination(t.Destination)
		if to.Port == at.Port() && p.isServicePod(model.ServicePod{Address: at.Addr(), Workload: to.Workload}) {
			seen.Server = t.Destination
			return
		}
		for _, e := range p.endpointsOf(to) {
			if to.PortAt(e) == at.Port() && slices.Contains(e.Addresses, at.Addr()) {
				seen.Server = t.Destination
				return
			}
		}
	}
}

// isServicePod reports whether a headless Service has the pod.
func (p *pod) isServicePod(pod model.ServicePod) bool {
	return slices.ContainsFunc(p.index.Model.Services, func(s model.Service) bool { return slices.Contains(s.Pods, pod) })
}

func share(all []model.WeightedDestination, t model.WeightedDestination) float64 {
	var sum float64
	for _, other := range all {
		sum += float64(other.Weight)
	}
	return float64(t.Weight) / sum
}

func shares(targets []model.WeightedDestination, count map[string]int, n int) []string {
	var differences []string
	for _, t := range targets {
		p := share(targets, t)
		mean, spread := p*float64(n), deviations*math.Sqrt(p*(1-p)*float64(n))
		if have := float64(count[t.Destination]); have == 0 || math.Abs(have-mean) > spread {
			differences = append(differences,
				fmt.Sprintf("%d of %d requests reach %s, want %.0f ± %.0f", count[t.Destination], n,
					t.Destination, mean, spread))
		}
		delete(count, t.Destination)
	}
	for _, who := range slices.Sorted(maps.Keys(count)) {
		differences = append(differences, fmt.Sprintf("%d of %d requests reach %q, want none", count[who], n, who))
	}
	return differences
}

// compare returns the differences between an observation, after a number of tries, and a decision.
func (l Line) compare(d model.Decision, seen Observation, tries int) []string {
	var differences []string
	differ := func(what, have, want string) {
		if have != want {
			differences = append(differences, fmt.Sprintf("%s is %q, want %q", what, have, want))
		}
	}
	if l.refusedByLibrary(seen) && l.expectedResult(d) == refused {
		return nil
	}
	if differ("the result", observedResult(seen), l.expectedResult(d)); len(differences) > 0 {
		return differences
	}
	if seen.Refused {
		return nil
	}
	end := predict(d, l)
	differ("the response", seen.Status, end.status)
	if seen.Duration < end.after-timerTolerance {
		differences = append(differences, fmt.Sprintf("the duration is %s, want at least %s", seen.Duration, end.after))
	}
	if !l.Request.Protocol.Requests() {
		switch d.Outcome {
		case model.PassedThrough:
			differ("the address", seen.At, l.dialed())
		case model.Resolved:
			differ("the address", seen.At, netip.AddrPortFrom(l.Resolved, l.Request.Port).String())
		case model.Forwarded:
			if d.Pod.IsValid() {
				differ("the address", seen.At, netip.AddrPortFrom(d.Pod, l.Request.Port).String())
			}
		}
		return differences
	}
	differ("the number of tries", strconv.Itoa(tries), strconv.Itoa(end.tries))
	if end.local {
		return differences
	}
	differ("the path", seen.Path, d.Request.Path)
	differ("the method", seen.Method, d.Request.Method)
	differ("the host", seen.Host, d.Request.Host)
	switch d.Outcome {
	case model.PassedThrough:
		differ("the address", seen.At, l.dialed())
	case model.Forwarded:
		if !slices.ContainsFunc(d.Targets, func(t model.WeightedDestination) bool {
			return t.Destination == seen.Server
		}) {
			differences = append(differences, fmt.Sprintf("the destination is %s, want %s", seen.Server, outcome(d)))
		}
	}
	return differences
}

func (l Line) dialed() string { return fmt.Sprintf("%s:%d", l.Request.Address, l.Request.Port) }

// Kinds of results besides those of expectations.
const (
	localResponse   = "local response"
	fromDestination = "response of a destination"
)

// observedResult classifies an observation.
func observedResult(s Observation) string {
	switch {
	case s.Refused:
		return refused
	case s.Server == "":
		return localResponse
	case s.Server == externalServer:
		return passthrough
	case s.Server == application:
		return application
	}
	return fromDestination
}

// expectedResult classifies the result that a decision leads to.
func (l Line) expectedResult(d model.Decision) string {
	switch {
	case d.Outcome == model.Refused, d.Outcome == model.Resolved && !l.Resolved.IsValid(),
		(l.unreachable(d) || d.Outcome == model.Unavailable || d.Outcome == model.Overflow || d.Outcome == model.Denied) &&
			!l.Request.Protocol.Requests():
		return refused
	case d.Outcome == model.NotHTTP, l.Request.Protocol.Requests() && predict(d, l).local:
		return localResponse
	case d.Outcome == model.PassedThrough, d.Outcome == model.Resolved:
		return passthrough
	case d.Outcome == model.ToApplication:
		return application
	}
	return fromDestination
}
