package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// text writes a target, and the limits of its receivers unless those of all receivers are the same.
func (t Target) text(b *strings.Builder, s terminal.Style, a Result, sameLimits bool) {
	bar := strings.Repeat("█", max(1, int(t.Share*barLength+0.5)))
	address := t.Found.Hostname
	switch t.Found.Kind {
	case model.DiscoverInstances:
		address = "its instances"
		if n := len(t.Found.Addresses); n > 0 {
			address = terminal.Count(n, "fixed address and ", "fixed addresses and ") + address
		}
	case model.DiscoverNone:
		address = "the sidecar itself"
	case model.DiscoverStatic:
		address = addresses(t.Found.Addresses)
	case model.DiscoverDNSEndpoints:
		address = "every address of " + address
	}
	fmt.Fprintf(b, "\n  %6.1f%% %s %s\n", 100*t.Share, s.Cyan(fmt.Sprintf("%-*s", barLength, bar)),
		s.Bold(t.Destination))
	indent := strings.Repeat(" ", 10)
	protocol := string(t.Protocol)
	if t.Transport != "" {
		protocol += " over " + string(t.Transport)
	}
	fmt.Fprintf(b, "%s%s at %s", indent, protocol, address)
	if t.Port != 0 {
		fmt.Fprintf(b, ":%d", t.Port)
	}
	if t.Live && t.Instances > 0 || t.Failure != nil {
		b.WriteString("; " + readiness(s, t.Ready, t.Instances))
	}
	b.WriteString("\n")
	for _, line := range t.Health {
		fmt.Fprintf(b, "%s%s\n", indent, line)
	}
	if t.Failure != nil {
		fmt.Fprintf(b, "%s%s %s\n", indent, s.Red("✗"), s.Red("the client gets "+t.Failure.String()))
		return
	}
	for _, r := range t.Receivers {
		at := indent
		if len(t.Receivers) > 1 {
			fmt.Fprintf(b, "%s%5.1f%% %s\n", indent, 100*r.Share, r.name())
			if at += "  "; t.Live {
				fmt.Fprintf(b, "%s%s\n", at, readiness(s, r.Ready, r.Instances))
			}
		}
		r.text(b, s, a.kinds, at)
		if !sameLimits {
			fmt.Fprintf(b, "%stimeouts  %s\n", at, r.Limits.text(a.Decision.Timeouts, t.Protocol))
		}
	}
}

// addresses returns a single address or socket file, else their number.
func addresses(all []model.StaticAddress) string {
	if len(all) == 1 {
		return cmp.Or(all[0].Socket, all[0].Host)
	}
	return fmt.Sprintf("%d fixed addresses", len(all))
}

func readiness(s terminal.Style, ready, all int) string {
	if ready == 0 {
		return s.Red("no instance is ready")
	}
	return fmt.Sprintf("%d of %s ready", ready, terminal.Count(all, "instance is", "instances are"))
}

func (r Receiver) name() string {
	switch {
	case r.Workload.Name != "":
		return r.Workload.Name
	case r.Service != "":
		return "Service " + r.Service
	}
	return "outside of the mesh"
}

// text writes what the receiver does with the request.
func (r Receiver) text(b *strings.Builder, s terminal.Style, kinds dialect.KindNames, indent string) {
	r.TLS.text(b, s, indent)
	switch d := r.InboundDecision; {
	case r.TLS != nil && r.TLS.Refused, d == nil && r.undeclared:
	case d == nil && r.Service != "":
		fmt.Fprintf(b, "%s%s the mesh has no sidecar behind Service %s\n", indent, s.Yellow("→"), r.Service)
	case d == nil:
		fmt.Fprintf(b, "%s%s the mesh has no sidecar behind this address\n", indent, s.Yellow("→"))
	default:
		for i, step := range d.Steps {
			mark := s.Green("→")
			if i == len(d.Steps)-1 {
				mark = arrow(s, d.Outcome) // of the step that decides
			}
			fmt.Fprintf(b, "%s%s %s  %s\n", indent, mark, step.Text, s.Dim(kinds.Origin(step.Origin)))
		}
		if !good(d.Outcome) {
			fmt.Fprintf(b, "%s%s %s\n", indent, arrow(s, d.Outcome), outcome(s, *d))
		}
	}
	if r.Failure != nil {
		fmt.Fprintf(b, "%s%s %s\n", indent, s.Red("✗"), s.Red("the client gets "+r.Failure.String()))
	}
}

// text writes how the sender uses TLS; the receiver may be nil.
func (t *TLS) text(b *strings.Builder, s terminal.Style, indent string) {
	if t == nil {
		return
	}
	for i, step := range t.Steps {
		mark := s.Green("→")
		if t.Refused && i == len(t.Steps)-1 {
			mark, step = s.Red("✗"), s.Red(step)
		}
		fmt.Fprintf(b, "%s%s %s\n", indent, mark, step)
	}
	if t.Assumed && !t.Refused {
		fmt.Fprintf(b, "%s  %s\n", indent, s.Dim("certificates in files are not read; the other side is assumed to accept them"))
	}
}

// limits returns the limits of all receivers, and whether they are the same.
func (a Result) limits() (common Limits, same bool) {
	common, same = Limits{Timeouts: a.Decision.Timeouts}, true
	first := true
	for _, t := range a.Targets {
		for _, r := range t.Receivers {
			if t.Failure != nil || r.Share == 0 {
				continue // gets no request
			}
			if first {
				common, first = r.Limits, false
			}
			same = same && r.Limits == common
		}
	}
	return common, same
}

// text describes the limits of a request whose route has timeouts.
func (l Limits) text(route model.Timeouts, p model.Protocol) string {
	limit := func(effective, route model.Duration) string {
		switch {
		case effective == 0:
			return "no limit"
		case effective == route:
			return phrases.Duration(effective)
		case route == 0:
			return phrases.Duration(effective) + " by the listener"
		}
		return fmt.Sprintf("%s by the listener (the route has %s)", phrases.Duration(effective), phrases.Duration(route))
	}
	idle := "idle " + limit(l.Idle, route.Idle)
	if !p.Requests() {
		return idle
	}
	text := "request " + limit(l.Request, route.Request) + ", " + idle
	if end := l.Unanswered; end > 0 && end != shorter(l.Request, l.Idle) {
		text += fmt.Sprintf("; without a response, the request ends after %s", time.Duration(end))
		if l.Attempts > 1 {
			text += fmt.Sprintf(" and %d attempts", l.Attempts)
		}
	}
	return text
}
