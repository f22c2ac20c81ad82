package compare

import (
	"fmt"
	"io"
	"strings"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
)

// Text writes the report as text.
func (r *Report) Text(w io.Writer, s terminal.Style) error {
	var b strings.Builder
	for _, d := range r.Differences {
		b.WriteString(d.head(s) + "\n")
		table := terminal.Table{Indent: "  "}
		for _, side := range []struct{ name, value, field string }{{"A", d.A, d.FieldA}, {"B", d.B, d.FieldB}} {
			for i, line := range strings.Split(side.value, "\n") {
				if i > 0 {
					side.name, side.field = "", ""
				}
				table.Row(s.Bold(side.name), line, s.Dim(side.field))
			}
		}
		if err := table.Write(&b, s); err != nil {
			return err
		}
		if d.Example != nil {
			fmt.Fprintf(&b, "  %s\n", d.example(s))
		}
		b.WriteString("\n")
	}
	if err := r.observed(&b, s); err != nil {
		return err
	}
	fmt.Fprintf(&b, "A  %s\nB  %s\n\n", r.A, r.B)
	b.WriteString(r.summary(s) + "\n")
	if len(r.Observed) > 0 {
		b.WriteString(r.sent(s) + "\n")
	}
	if len(r.Partial) > 0 {
		b.WriteString(s.Dim("not all combinations of conditions are asked for "+strings.Join(r.Partial, ", ")) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary says what the comparison proves.
func (r *Report) summary(s terminal.Style) string {
	asked := fmt.Sprintf("%s of %s", terminal.Count(r.Requests, "request", "requests"),
		terminal.Count(r.Parties, "application or gateway", "applications and gateways"))
	text := s.Green("=") + " equal: no difference in " + asked
	if len(r.Differences) > 0 {
		text = s.Red("≠") + " " + terminal.Count(len(r.Differences), "difference", "differences") + " in " + asked
	}
	if len(r.Ignored) > 0 {
		names := make([]string, len(r.Ignored))
		for i, aspect := range r.Ignored {
			names[i] = string(aspect)
		}
		text += "; not compared: " + strings.Join(names, ", ")
	}
	return text
}

// head is the heading of a difference: the aspect and the parties.
func (d Difference) head(s terminal.Style) string {
	preposition := "from"
	switch {
	case d.Example == nil:
		preposition = "of"
	case d.Inbound:
		preposition = "into"
	}
	parties := s.Cyan(d.Parties[0])
	if more := len(d.Parties) - 1; more > 0 {
		parties += fmt.Sprintf(" and %s", terminal.Count(more, "other", "others"))
	}
	return s.Yellow(string(d.Aspect)) + " " + preposition + " " + parties
}

// example is the first request, and the number of others.
func (d Difference) example(s terminal.Style) string {
	text := requestLine(*d.Example)
	if d.Requests > 1 {
		text += fmt.Sprintf(", and %s", terminal.Count(d.Requests-1, "other request", "other requests"))
	}
	return s.Dim(text)
}

// requestLine describes a request as the arguments of anymesh explain.
func requestLine(r model.Request) string {
	host := r.Host
	if port := fmt.Sprintf(":%d", r.Port); r.Port != 0 && !strings.HasSuffix(host, port) {
		host += port
	}
	text := fmt.Sprintf("%s://%s", r.Protocol, host)
	if r.Protocol.Requests() {
		text = r.Method + " " + text + r.Path
	}
	for _, h := range r.Headers {
		text += fmt.Sprintf(" -H '%s: %s'", h.Name, h.Value)
	}
	switch {
	case r.TLS != nil && len(r.TLS.Names) > 0:
		text += " with the certificate of " + strings.Join(r.TLS.Names, ", ")
	case r.TLS != nil:
		text += " with TLS, without a certificate"
	case r.ServerName != "":
		text += " with TLS for " + r.ServerName
	}
	if r.Client.IsValid() {
		text += " from " + r.Client.String()
	}
	return text
}
