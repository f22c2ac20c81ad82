package observe

import (
	"fmt"
	"net/netip"
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
	target         = "target" // destinations with weights, or one of the outcomes below
	forwardedPath  = "path"   // the path of the forwarded request
	host           = "host"   // the host of the forwarded request
	route          = "route"
	tries          = "tries"
	responseStatus = "response"
	timeout        = "timeout"
	idle           = "idle"
	logEntry       = "log"
	podOf          = "pod" // the address of the pod that a stream goes to
)

// Outcomes other than destinations.
const (
	application = "application"
	passthrough = "passthrough"
	resolved    = "resolved"
	notFound    = "404"
	refused     = "refused"
	denied      = "403"
	malformed   = "400"
	notHTTP     = "not-http"
	unavailable = "unhealthy"
	overflow    = "overflow"
)

func parseExpectation(text string) (Expectation, error) {
	parts := strings.Split(text, "; ")
	e := Expectation{target: strings.TrimSpace(parts[0])}
	for _, part := range parts[1:] {
		words := strings.Fields(part)
		entry, isLog := strings.CutPrefix(part, logEntry+" ")
		switch {
		case isLog:
			e[logEntry] = entry
		case len(words) == 2 &&
			slices.Contains([]string{forwardedPath, host, route, podOf, responseStatus, timeout, idle}, words[0]):
			e[words[0]] = words[1]
		case len(words) == 2 && (words[1] == "tries" || words[1] == "try"):
			e[tries] = words[0]
		default:
			return nil, fmt.Errorf("unknown expectation %q", part)
		}
	}
	return e, nil
}

// decide calls the interpreter.
func (l Line) decide(v *model.View) model.Decision {
	if l.Into {
		request := l.Request
		request.Client = netip.MustParseAddr(externalAddress)
		return v.DecideInbound(request)
	}
	return v.Decide(l.Request)
}

// expect converts a decision to the syntax of cases.
func (l Line) expect(d model.Decision) Expectation {
	e := Expectation{target: outcome(d), route: d.Route}
	if e[target] == refused {
		return e
	}
	if d.Request.Path != l.Request.Path {
		e[forwardedPath] = d.Request.Path
	}
	if d.Request.Host != l.Request.Host {
		e[host] = d.Request.Host
	}
	if d.Pod.IsValid() {
		e[podOf] = d.Pod.String()
	}
	e[timeout] = time.Duration(d.Timeouts.Request).String()
	e[idle] = time.Duration(d.Timeouts.Idle).String()
	end := predict(d, l)
	e[tries], e[responseStatus] = strconv.Itoa(end.tries), end.status
	return e
}

func outcome(d model.Decision) string {
	switch d.Outcome {
	case model.ToApplication:
		return application
	case model.PassedThrough:
		return passthrough
	case model.Resolved:
		return resolved
	case model.NotFound:
		return notFound
	case model.Refused:
		return refused
	case model.Denied:
		if !d.Request.Protocol.Requests() {
			return refused
		}
		return denied
	case model.Malformed:
		return malformed
	case model.NotHTTP:
		return notHTTP
	case model.Unavailable:
		return unavailable
	case model.RateLimited:
		return strconv.Itoa(int(d.StatusCode))
	case model.Redirected:
		return fmt.Sprintf("%d %s", d.StatusCode, d.Location)
	case model.Overflow:
		return overflow
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

// Check compares the expectation with the decision of the interpreter. Target, path and host are always compared,
// other facts only if the case states them.
func (l Line) Check(v *model.View) []string {
	have := Expectation{target: l.healthResult(v)}
	if !l.HealthCheck {
		have = l.expect(l.decide(v))
	}
	var differences []string
	for _, kind := range []string{target, forwardedPath, host, route, podOf, tries, responseStatus, timeout, idle} {
		want, written := l.Want[kind]
		if must := kind == target || kind == forwardedPath || kind == host; (must || written) && have[kind] != want {
			differences = append(differences,
				fmt.Sprintf("%s: the interpreter decides %q, the case expects %q", kind, have[kind], want))
		}
	}
	return differences
}
