package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"anymesh.dev/anymesh/model"
)

// Expectation is a decision in the syntax of cases: facts by kind.
type Expectation map[string]string

// Kinds of facts.
const (
	target  = "target" // destinations with weights, or one of the outcomes below
	as      = "as"     // the path it leaves with
	host    = "host"   // the host it leaves with
	route   = "route"
	tries   = "tries"
	replied = "answer"
	timeout = "timeout"
	idle    = "idle"
)

// Outcomes other than destinations.
const (
	application = "application"
	passed      = "passed"
	notFound    = "404"
	refused     = "refused"
	denied      = "403"
	malformed   = "400"
)

func parseExpectation(text string) (Expectation, error) {
	parts := strings.Split(text, "; ")
	e := Expectation{target: strings.TrimSpace(parts[0])}
	for _, part := range parts[1:] {
		words := strings.Fields(part)
		switch {
		case len(words) == 2 && slices.Contains([]string{as, host, route, replied, timeout, idle}, words[0]):
			e[words[0]] = words[1]
		case len(words) == 2 && (words[1] == "tries" || words[1] == "try"):
			e[tries] = words[0]
		default:
			return nil, fmt.Errorf("%q is nothing that can be expected", part)
		}
	}
	return e, nil
}

// decide calls the interpreter.
func (l Line) decide(v *model.View) model.Decision {
	if l.Into {
		return v.DecideInbound(l.Request)
	}
	return v.Decide(l.Request)
}

// expect converts a decision to the syntax of cases.
func (l Line) expect(d model.Decision) Expectation {
	e := Expectation{target: outcome(d), route: d.Route}
	if d.Outcome == model.Refused {
		return e
	}
	if d.Request.Path != l.Request.Path {
		e[as] = d.Request.Path
	}
	if d.Request.Host != l.Request.Host {
		e[host] = d.Request.Host
	}
	e[timeout] = time.Duration(d.Timeouts.Request).String()
	e[idle] = time.Duration(d.Timeouts.Idle).String()
	end := predict(d, l)
	e[tries], e[replied] = strconv.Itoa(end.tries), end.status
	return e
}

func outcome(d model.Decision) string {
	switch d.Outcome {
	case model.ToApplication:
		return application
	case model.PassedThrough:
		return passed
	case model.NotFound:
		return notFound
	case model.Refused:
		return refused
	case model.Denied:
		return denied
	case model.Malformed:
		return malformed
	}
	var targets []string
	for _, t := range d.Targets {
		targets = append(targets, t.Destination)
		if len(d.Targets) > 1 {
			targets[len(targets)-1] += fmt.Sprintf(" %d", t.Weight)
		}
	}
	return strings.Join(targets, ", ")
}

// Check compares what is written with what the interpreter says. Where it goes and with what host and path always
// counts; everything else only if it is written.
func (l Line) Check(v *model.View) []string {
	have := l.expect(l.decide(v))
	var wrong []string
	for _, kind := range []string{target, as, host, route, tries, replied, timeout, idle} {
		want, written := l.Want[kind]
		if must := kind == target || kind == as || kind == host; (must || written) && have[kind] != want {
			wrong = append(wrong, fmt.Sprintf("the interpreter says %s %q, the case %q", kind, have[kind], want))
		}
	}
	return wrong
}
