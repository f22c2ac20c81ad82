package describe

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
)

// Text writes the description as text.
func (d Router) Text(w io.Writer, s terminal.Style) error {
	p := &page{s: s, kinds: d.kinds}
	fmt.Fprintf(p, "%s, router %s of mesh %s\n", s.Cyan(p.kinds.Object(d.Origin.Object())), s.Bold(d.Name), s.Bold(d.Mesh))
	p.heading("Ports")
	p.ports(d.Ports, "none: requests to its services get no route")
	if len(d.Gateways) > 0 {
		t := terminal.Table{Headings: []string{"GATEWAY", "OBJECT"}}
		for _, g := range d.Gateways {
			t.Row(g.Name, s.Dim(p.kinds.Object(g.Object)))
		}
		p.heading("Gateways")
		p.table(t)
		p.status(d.Status)
		p.findings(d.Findings)
		return p.flush(w)
	}
	p.heading("Services")
	t := terminal.Table{Headings: []string{"SERVICE", "OBJECT"}}
	for _, v := range d.Services {
		t.Row(v.Name, s.Dim(p.kinds.Object(v.Object)))
	}
	if t.Len() == 0 {
		p.WriteString("  none: no service uses this router\n")
	} else {
		p.table(t)
	}
	p.heading("Reachable from")
	p.callers(d.ReachedBy, false)
	p.status(d.Status)
	p.findings(d.Findings)
	return p.flush(w)
}

// Text writes the description as text.
func (d Object) Text(w io.Writer, s terminal.Style) error {
	p := &page{s: s, kinds: d.kinds}
	p.WriteString(s.Cyan(p.kinds.Object(d.ObjectRef)) + "\n")
	if d.needsUse {
		p.uses(d.UsedBy)
	} else {
		p.items(d.Items)
	}
	if len(d.Routes) > 0 {
		p.heading("Routes")
	}
	for _, r := range d.Routes {
		p.route(r)
	}
	p.status(d.Status)
	p.findings(d.Findings)
	return p.flush(w)
}

// items writes the mesh items that an object defines.
func (p *page) items(all []Item) {
	p.heading("Mesh items")
	t := terminal.Table{Headings: []string{"MESH", "KIND", "NAME", "FIELD"}}
	for _, item := range all {
		t.Row(item.Mesh, item.Kind, item.Name, p.s.Dim(cmp.Or(item.Path, "-")))
	}
	if t.Len() == 0 {
		p.WriteString("  " + p.s.Yellow("none: this object defines no part of the mesh") + "\n")
		return
	}
	p.table(t)
}

// uses writes the fields through which an object has effect.
func (p *page) uses(all []model.Origin) {
	p.heading("Used by")
	t := terminal.Table{Headings: []string{"OBJECT", "FIELD"}}
	for _, at := range all {
		t.Row(p.kinds.Object(at.Object()), p.s.Dim(at.Path))
	}
	if t.Len() == 0 {
		p.WriteString("  " + p.s.Yellow("none: no object refers to it, so that it has no effect") + "\n")
		return
	}
	p.table(t)
}

// status writes the conditions of the object, if there are any.
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
		fmt.Fprintf(p, "  %s %s\n", c.Type,
			strings.TrimSuffix(strings.TrimSpace(state+" "+c.Reason)+": "+c.Message, ": "))
	}
}
