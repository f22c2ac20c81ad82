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
	preposition, subject := "from", a.kinds.Object(a.Workload.Origin.Object())
	if a.Inbound {
		preposition, subject = "into", a.kinds.Object(a.into)
	}
	if a.Workload.Pod != nil {
		subject = "Pod " + a.Workload.Pod.Instance.Namespace + "/" + a.Workload.Pod.Instance.Name +
			", an instance of " + subject
	}
	fmt.Fprintf(&b, "%s  %s %s\n\n", s.Bold(requestLine(a.Request)), preposition, s.Cyan(subject))
	if err := a.steps(&b, s, "  "); err != nil {
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
		of := s.Cyan(a.kinds.Object(o.Owner))
		if o.Part != "" {
			of += ", rule " + o.Part
		}
		fmt.Fprintf(&b, "  %s is of %s\n", a.kinds.Object(o.Object), of)
	}
	common, same := a.limits()
	for _, t := range a.Targets {
		t.text(&b, s, a, same)
	}
	if a.Decision.Outcome == model.Forwarded {
		b.WriteString("\n")
		if a.protocol().Requests() || a.Decision.Retry.Retries > 0 {
			fmt.Fprintf(&b, "  retries   %s\n", phrases.Retry(a.Decision.Retry))
		}
		if !same {
			common = Limits{Timeouts: a.Decision.Timeouts}
		}
		fmt.Fprintf(&b, "  timeouts  %s\n", common.text(a.Decision.Timeouts, a.protocol()))
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
			s.Dim(a.kinds.Field(f.Object, f.Path)), f.Text)
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
	if r.Socket != "" {
		return fmt.Sprintf("%s to %s", r.Protocol, r.Socket)
	}
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

func (a Result) steps(b *strings.Builder, s terminal.Style, indent string) error {
	table := terminal.Table{Indent: indent}
	for i, step := range a.Decision.Steps {
		origin := ""
		if step.Origin.Object().Name != "" {
			origin = s.Dim(a.kinds.Origin(step.Origin))
		}
		table.Row(s.Dim(strconv.Itoa(i+1)), step.Text, origin)
	}
	return table.Write(b, s)
}

// outcome describes the outcome, with the program that responds.
func (a Result) outcome(s terminal.Style) string {
	if a.Failure != nil && a.Failure.Error == NoConnection {
		return s.Red("the client cannot connect")
	}
	text := outcome(s, a.Decision)
	if a.Inbound && a.Workload.Role == model.RoleGateway {
		text = strings.Replace(text, "the sidecar ", "the gateway ", 1)
	}
	return text
}

func good(o model.Outcome) bool { return o == model.Forwarded || o == model.ToApplication }

// leaves reports whether the connection leaves the mesh.
func leaves(o model.Outcome) bool { return o == model.PassedThrough || o == model.Resolved }

func arrow(s terminal.Style, o model.Outcome) string {
	switch {
	case good(o):
		return s.Green("→")
	case leaves(o), o == model.Redirected:
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
	case leaves(d.Outcome):
		return s.Yellow(text)
	case !good(d.Outcome):
		return s.Red(text)
	}
	return s.Green(text)
}
