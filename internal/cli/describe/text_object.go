package describe

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"anymesh.dev/anymesh/internal/cli/terminal"
)

// Text writes the description for people.
func (d Router) Text(w io.Writer, s terminal.Style) error {
	p := &page{s: s}
	fmt.Fprintf(p, "%s, router %s of mesh %s\n", s.Cyan(d.Origin.Object.String()), s.Bold(d.Name), s.Bold(d.Mesh))
	p.heading("Is dialled on")
	p.ports(d.Ports, "no port; whoever asks for its services is told that there is none")
	p.heading("Answers for")
	t := terminal.Table{Headings: []string{"SERVICE", "OBJECT"}}
	for _, v := range d.Services {
		t.Row(v.Name, s.Dim(v.Object.String()))
	}
	if t.Len() == 0 {
		p.WriteString("  no service: no service has it as its router\n")
	} else {
		p.table(t)
	}
	p.heading("May be reached by")
	p.callers(d.ReachedBy, false)
	p.status(d.Status)
	p.findings(d.Findings)
	return p.flush(w)
}

// Text writes the description for people.
func (d Object) Text(w io.Writer, s terminal.Style) error {
	p := &page{s: s}
	p.WriteString(s.Cyan(d.ObjectRef.String()) + "\n")
	p.heading("Means")
	t := terminal.Table{Headings: []string{"MESH", "WHAT", "NAME", "FIELD"}}
	for _, part := range d.Means {
		t.Row(part.Mesh, part.What, part.Name, s.Dim(cmp.Or(part.Path, "-")))
	}
	if t.Len() == 0 {
		p.WriteString("  " + s.Yellow("nothing: no part of the mesh comes from this object") + "\n")
	} else {
		p.table(t)
	}
	p.status(d.Status)
	p.findings(d.Findings)
	return p.flush(w)
}

// status shows what the cluster says, where it has said something.
func (p *page) status(all []Condition) {
	if len(all) == 0 {
		return
	}
	p.heading("Status in the cluster")
	for _, c := range all {
		state := c.Status
		if c.Status == "True" {
			state = p.s.Green(state)
		} else {
			state = p.s.Red(state)
		}
		fmt.Fprintf(p, "  %s %s\n", c.Type, strings.TrimSuffix(strings.TrimSpace(state+" "+c.Reason)+": "+c.Message, ": "))
	}
}
