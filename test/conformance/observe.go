package conformance

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

// deviations is how far a share may be from what is expected, in standard deviations: chance alone goes as far once in
// a million runs.
const deviations = 5

// patient is how often a line that plays with time may go wrong: on a busy machine others' time runs out, too.
const patient = 3

// tick is how much too early a timer may go off: Envoy looks at the clock once for all that is to be done at a time.
const tick = 50 * time.Millisecond

// observe sends a line's requests and says where what happens is not what was decided.
func (p *pod) observe(ctx context.Context, l Line) []string {
	timed := slices.ContainsFunc(l.Answers, Answer.timed)
	c := p.caller(l)
	for attempt := 1; ; attempt++ {
		wrong := p.once(ctx, l, c)
		if len(wrong) == 0 || !timed || attempt == patient {
			return wrong
		}
	}
}

func (p *pod) once(ctx context.Context, l Line, c *caller) []string {
	d := l.decide(p.view)
	times := p.requests(d)
	count, at := map[string]int{}, map[string]int{}
	for range times {
		seen, err := c.send(ctx)
		if err != nil {
			return []string{err.Error()}
		}
		p.recognize(d, &seen)
		if wrong := l.compare(d, seen, p.tally.of(c.id())); len(wrong) > 0 {
			return wrong
		}
		count[seen.Who]++
		at[seen.At]++
	}
	switch {
	case len(at) < p.addresses(d):
		return []string{fmt.Sprintf("Envoy: %d requests go to %v, want all %d addresses", times, at, p.addresses(d))}
	case len(d.Targets) < 2:
		return nil
	}
	return shares(d.Targets, count, times)
}

// requests is how many requests show the decision: enough to see each destination, if there are several.
func (p *pod) requests(d model.Decision) int {
	switch {
	case p.addresses(d) > 1:
		return 20
	case len(d.Targets) < 2:
		return 1
	}
	n := 400
	for _, t := range d.Targets {
		n = max(n, int(14/share(d.Targets, t))) // none is missed by chance: e^-14
	}
	return n
}

// addresses is how many addresses of the only destination are to be used.
func (p *pod) addresses(d model.Decision) int {
	if d.Outcome != model.Forwarded || len(d.Targets) != 1 {
		return 0
	}
	to, _ := p.view.Destination(d.Targets[0].Destination)
	switch to.Discovery.Kind {
	case model.DiscoverDNSEndpoints:
		return endpoints
	case model.DiscoverInstances:
		return len(p.reached(to))
	}
	return 1
}

// reached lists the endpoints that a destination leads to.
func (p *pod) reached(d model.Destination) []model.Endpoint {
	reach, _ := p.index.ResolvedDestination(d.Key)
	return reach.Endpoints
}

// recognize names the target that a pod answered for: the first that leads to the pod's address.
func (p *pod) recognize(d model.Decision, seen *Seen) {
	if seen.Who != instance {
		return
	}
	at, err := netip.ParseAddrPort(seen.At)
	if err != nil {
		return
	}
	for _, t := range d.Targets {
		to, _ := p.view.Destination(t.Destination)
		for _, e := range p.reached(to) {
			if to.Port == at.Port() && slices.Contains(e.Addresses, at.Addr()) {
				seen.Who = t.Destination
				return
			}
		}
	}
}

func share(all []model.WeightedDestination, t model.WeightedDestination) float64 {
	var sum float64
	for _, other := range all {
		sum += float64(other.Weight)
	}
	return float64(t.Weight) / sum
}

func shares(targets []model.WeightedDestination, count map[string]int, n int) []string {
	var wrong []string
	for _, t := range targets {
		p := share(targets, t)
		mean, spread := p*float64(n), deviations*math.Sqrt(p*(1-p)*float64(n))
		if have := float64(count[t.Destination]); have == 0 || math.Abs(have-mean) > spread {
			wrong = append(wrong, fmt.Sprintf("%d of %d requests go to %s, want %.0f ± %.0f", count[t.Destination], n,
				t.Destination, mean, spread))
		}
		delete(count, t.Destination)
	}
	for _, who := range slices.Sorted(maps.Keys(count)) {
		wrong = append(wrong, fmt.Sprintf("%d of %d requests go to %q, want none", count[who], n, who))
	}
	return wrong
}

// compare says where what a client saw, after some tries, differs from a decision.
func (l Line) compare(d model.Decision, seen Seen, tries int) []string {
	var wrong []string
	differ := func(what, have, want string) {
		if have != want {
			wrong = append(wrong, fmt.Sprintf("Envoy: %s is %q, want %q", what, have, want))
		}
	}
	if differ("the end", ending(seen), l.ending(d)); len(wrong) > 0 {
		return wrong
	}
	if seen.Refused {
		return nil
	}
	end := predict(d, l)
	differ("the answer", seen.Answer, end.status)
	if seen.Took < end.after-tick {
		wrong = append(wrong, fmt.Sprintf("Envoy: it takes %s, want at least %s", seen.Took, end.after))
	}
	if !l.Request.Protocol.Requests() {
		if d.Outcome == model.PassedThrough {
			differ("the address", seen.At, l.dialed())
		}
		return wrong
	}
	differ("the number of tries", strconv.Itoa(tries), strconv.Itoa(end.tries))
	if end.own {
		return wrong
	}
	differ("the path", seen.Path, d.Request.Path)
	differ("the method", seen.Method, d.Request.Method)
	differ("the host", seen.Host, d.Request.Host)
	switch d.Outcome {
	case model.PassedThrough:
		differ("the address", seen.At, l.dialed())
	case model.Forwarded:
		if !slices.ContainsFunc(d.Targets, func(t model.WeightedDestination) bool {
			return t.Destination == seen.Who
		}) {
			wrong = append(wrong, fmt.Sprintf("Envoy: it goes to %s, want %s", seen.Who, outcome(d)))
		}
	}
	return wrong
}

func (l Line) dialed() string { return fmt.Sprintf("%s:%d", l.Request.Address, l.Request.Port) }

const own = "an answer of the sidecar's own"

// ending is what kind of an end a request came to.
func ending(s Seen) string {
	switch {
	case s.Refused:
		return refused
	case s.Who == "":
		return own
	case s.Who == "world":
		return passed
	case s.Who == application:
		return application
	}
	return "an answer of a destination"
}

// ending is what kind of an end a decision is to lead to.
func (l Line) ending(d model.Decision) string {
	switch {
	case d.Outcome == model.Refused:
		return refused
	case l.Request.Protocol.Requests() && predict(d, l).own:
		return own
	case d.Outcome == model.PassedThrough:
		return passed
	case d.Outcome == model.ToApplication:
		return application
	}
	return "an answer of a destination"
}
