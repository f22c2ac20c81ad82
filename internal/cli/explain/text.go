package explain

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/docs/findings"
	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
)

// barLength is the length of the bar for 100 %.
const barLength = 20

// Text writes a result as text.
func (a Result) Text(w io.Writer, s terminal.Style) error {
	var b strings.Builder
	preposition := "from"
	if a.Inbound {
		preposition = "into"
	}
	subject := a.Workload.Origin.Object.String()
	if a.Workload.Pod != nil {
		subject = "Pod " + a.Workload.Pod.Instance.Namespace + "/" + a.Workload.Pod.Instance.Name +
			", an instance of " + subject
	}
	fmt.Fprintf(&b, "%s  %s %s\n\n", s.Bold(requestLine(a.Request)), preposition, s.Cyan(subject))
	if err := steps(&b, s, "  ", a.Decision); err != nil {
		return err
	}
	if a.Unresolved {
		fmt.Fprintf(&b, "\n%s %s\n", s.Red("✗"), s.Red("the host name does not resolve"))
		a.findings(&b, s)
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "\n%s %s\n", arrow(s, a.Decision.Outcome), a.outcome(s))
	if changed := rewritten(a.Request, a.Decision.Request); changed != "" {
		fmt.Fprintf(&b, "  rewritten to %s\n", changed)
	}
	for _, h := range changedHeaders(a.Request, a.Decision.Request) {
		fmt.Fprintf(&b, "  header %s: %s\n", h.Name, h.Value)
	}
	if o := a.Owner; o != nil {
		of := s.Cyan(o.Owner.String())
		if o.Part != "" {
			of += ", rule " + o.Part
		}
		fmt.Fprintf(&b, "  %s is of %s\n", o.Object, of)
	}
	for _, t := range a.Targets {
		if err := t.text(&b, s); err != nil {
			return err
		}
	}
	if a.Decision.Outcome == model.Forwarded {
		p := a.protocol()
		b.WriteString("\n")
		if p.Requests() {
			fmt.Fprintf(&b, "  retries   %s\n", phrases.Retry(a.Decision.Retry))
			fmt.Fprintf(&b, "  timeouts  %s\n", phrases.Timeouts(a.Decision.Timeouts))
		} else {
			fmt.Fprintf(&b, "  timeouts  idle %s\n", strings.TrimPrefix(phrases.Timeouts(model.Timeouts{
				Idle: a.Decision.Timeouts.Idle,
			}), "request no limit, idle "))
		}
	}
	a.findings(&b, s)
	_, err := io.WriteString(w, b.String())
	return err
}

func (a Result) findings(b *strings.Builder, s terminal.Style) {
	if len(a.Findings) > 0 {
		b.WriteString("\nFindings\n")
	}
	for _, f := range a.Findings {
		fmt.Fprintf(b, "  %s %s %s: %s\n", s.Severity(string(f.Severity)), s.Link(findings.URL(string(f.Code)), string(f.Code)),
			s.Dim(strings.TrimSpace(f.Object.String()+" "+f.Path)), f.Text)
	}
}

// protocol is the protocol towards the targets.
func (a Result) protocol() model.Protocol {
	if len(a.Targets) > 0 {
		return a.Targets[0].Protocol
	}
	return a.Request.Protocol
}

func requestLine(r model.Request) string {
	if !r.Protocol.Requests() {
		text := fmt.Sprintf("%s to %s port %d", r.Protocol, r.Host, r.Port)
		if r.ServerName != "" {
			text += ", TLS by the application"
		}
		return text
	}
	text := fmt.Sprintf("%s %s://%s%s", r.Method, r.Protocol, r.Host, r.Path)
	if r.TLS != nil {
		text += " with TLS"
	}
	return text
}

// rewritten returns the rewritten request, or "" if it is unchanged.
func rewritten(before, after model.Request) string {
	if before.Host == after.Host && before.Path == after.Path {
		return ""
	}
	after.TLS = nil // that of the client
	return requestLine(after)
}

func steps(b *strings.Builder, s terminal.Style, indent string, d model.Decision) error {
	table := terminal.Table{Indent: indent}
	for i, step := range d.Steps {
		origin := ""
		if step.Origin.Object.Name != "" {
			origin = s.Dim(step.Origin.String())
		}
		table.Row(s.Dim(strconv.Itoa(i+1)), step.Text, origin)
	}
	return table.Write(b, s)
}

// outcome describes the outcome, with the program that responds.
func (a Result) outcome(s terminal.Style) string {
	text := outcome(s, a.Decision)
	if a.Inbound && a.Workload.Role == model.RoleGateway {
		text = strings.Replace(text, "the sidecar ", "the gateway ", 1)
	}
	return text
}

func good(o model.Outcome) bool { return o == model.Forwarded || o == model.ToApplication }

func arrow(s terminal.Style, o model.Outcome) string {
	switch {
	case good(o):
		return s.Green("→")
	case o == model.PassedThrough, o == model.Redirected:
		return s.Yellow("→")
	}
	return s.Red("✗")
}

func outcome(s terminal.Style, d model.Decision) string {
	text := phrases.Outcome(d.Outcome, d.Request.Protocol)
	switch {
	case d.Outcome == model.Forwarded && d.Service != "":
		text += " by route " + d.Route + " of service " + d.Service
	case d.Outcome == model.Redirected:
		return s.Yellow(fmt.Sprintf("%s to %s with status %d", text, d.Location, d.StatusCode))
	case d.Outcome == model.PassedThrough:
		return s.Yellow(text)
	case !good(d.Outcome):
		return s.Red(text)
	}
	return s.Green(text)
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

func (t Target) text(b *strings.Builder, s terminal.Style) error {
	bar := strings.Repeat("█", max(1, int(t.Share*barLength+0.5)))
	address := t.Found.Hostname
	switch t.Found.Kind {
	case model.DiscoverInstances:
		address = "its instances"
	case model.DiscoverStatic:
		address = fmt.Sprintf("%d fixed addresses", len(t.Found.Addresses))
	case model.DiscoverDNSEndpoints:
		address = "every address of " + address
	}
	fmt.Fprintf(b, "\n  %6.1f%% %s %s\n", 100*t.Share, s.Cyan(fmt.Sprintf("%-*s", barLength, bar)),
		s.Bold(t.Destination))
	indent := strings.Repeat(" ", 10)
	fmt.Fprintf(b, "%s%s at %s", indent, t.Protocol, address)
	if t.Port != 0 {
		fmt.Fprintf(b, ":%d", t.Port)
	}
	switch {
	case t.Ready > 0:
		fmt.Fprintf(b, "; %d of %s ready", t.Ready, terminal.Count(t.Instances, "instance is", "instances are"))
	case t.Live:
		b.WriteString("; " + s.Red("no instance is ready"))
	}
	b.WriteString("\n")
	for _, line := range t.Health {
		fmt.Fprintf(b, "%s%s\n", indent, line)
	}
	t.TLS.text(b, s, indent)
	if t.InboundDecision == nil || t.TLS != nil && t.TLS.Refused {
		return nil
	}
	for _, step := range t.InboundDecision.Steps {
		fmt.Fprintf(b, "%s%s %s  %s\n", indent, arrow(s, t.InboundDecision.Outcome), step.Text,
			s.Dim(step.Origin.String()))
	}
	if !good(t.InboundDecision.Outcome) {
		fmt.Fprintf(b, "%s%s %s\n", indent, arrow(s, t.InboundDecision.Outcome), outcome(s, *t.InboundDecision))
	}
	return nil
}
