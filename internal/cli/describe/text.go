package describe

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"anymesh.dev/anymesh/docs/findings"
	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// page builds the text of a description.
type page struct {
	strings.Builder
	s     terminal.Style
	kinds dialect.KindNames
	err   error
}

func (p *page) heading(text string) { p.WriteString("\n" + p.s.Bold(text) + "\n") }

func (p *page) table(t terminal.Table) {
	t.Indent = "  "
	p.err = cmp.Or(p.err, t.Write(p, p.s))
}

func (p *page) flush(w io.Writer) error {
	if p.err != nil {
		return p.err
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// Text writes the description as text.
func (d Workload) Text(w io.Writer, s terminal.Style) error {
	p := &page{s: s, kinds: d.kinds}
	if d.Pod != nil {
		fmt.Fprintf(p, "Pod %s/%s is an instance of ", d.Pod.Instance.Namespace, d.Pod.Instance.Name)
	}
	fmt.Fprintf(p, "%s, workload %s of mesh %s\n", s.Cyan(p.kinds.Object(d.Origin.Object())), s.Bold(d.Name), s.Bold(d.Mesh))
	if d.Role == model.RoleGateway {
		p.WriteString("gateway: requests of clients outside the mesh go to services of the mesh\n")
	} else {
		fmt.Fprintf(p, "%s; undeclared destinations: %s; DNS mode: %s\n", d.application(), d.Egress,
			cmp.Or(d.DNS, model.DNSUnresolved))
	}
	if len(d.Drivers) > 0 {
		fmt.Fprintf(p, "%s: %s\n",
			map[bool]string{true: "sidecar driver", false: "sidecar drivers"}[len(d.Drivers) == 1],
			strings.Join(d.Drivers, ", "))
	}

	p.heading("Listens on")
	p.ports(d.Inbound, "none")
	if len(d.Instances) > 0 {
		p.heading("Instances")
		t := terminal.Table{Headings: []string{"POD", "READY", "ADDRESSES", "IDENTITY"}}
		for _, e := range d.Instances {
			ready := s.Red("no")
			if e.Ready {
				ready = s.Green("yes")
			}
			var addresses []string
			for _, a := range e.Addresses {
				addresses = append(addresses, a.String())
			}
			t.Row(e.Instance.Namespace+"/"+e.Instance.Name, ready, cmp.Or(strings.Join(addresses, " "), "-"),
				s.Dim(e.Identity.String()))
		}
		p.table(t)
	}
	p.bare(d.WithoutSidecar)
	p.heading("Can reach")
	p.ports(d.Reaches, "no declared service")
	p.hosts(d.Names)
	if d.Role != model.RoleGateway {
		p.heading("Reachable from")
		p.callers(d.ReachedBy, true)
	}
	p.status(d.Status)
	p.findings(d.Findings)
	return p.flush(w)
}

// Text writes the description as text.
func (d Service) Text(w io.Writer, s terminal.Style) error {
	p := &page{s: s, kinds: d.kinds}
	fmt.Fprintf(p, "%s, service %s of mesh %s\n", s.Cyan(p.kinds.Object(d.Origin.Object())), s.Bold(d.Name), s.Bold(d.Mesh))
	p.names(d.Names)
	p.heading("Ports")
	p.ports(d.Ports, "none: requests to this service get no route")
	p.heading("Reachable from")
	p.callers(d.ReachedBy, false)
	p.status(d.Status)
	p.findings(d.Findings)
	return p.flush(w)
}

// Text writes the description as text.
func (d Mesh) Text(w io.Writer, s terminal.Style) error {
	p := &page{s: s, kinds: d.kinds}
	fmt.Fprintf(p, "%s, mesh %s\n", s.Cyan(p.kinds.Object(d.Origin.Object())), s.Bold(d.Name))
	fmt.Fprintf(p, "trust domain %s; undeclared destinations: %s; addresses: %s\n", d.TrustDomain, d.Egress,
		cmp.Or(string(d.Family), "IPv6 and IPv4"))
	p.heading("Workloads")
	t := terminal.Table{Headings: []string{"NAME", "LISTENS", "READY", "OBJECT"}}
	for _, m := range d.Workloads {
		t.Row(m.Name, cmp.Or(strings.Join(m.Listens, ", "), "-"), fmt.Sprintf("%d/%d", m.Ready, m.Instances),
			s.Dim(p.kinds.Object(m.Object)))
	}
	p.list(t)
	p.heading("Services")
	t = terminal.Table{Headings: []string{"NAME", "PORTS", "RESOLVES TO", "OBJECT"}}
	for _, m := range d.Services {
		t.Row(m.Name, cmp.Or(strings.Join(m.Listens, ", "), "-"), p.values(m.Names), s.Dim(p.kinds.Object(m.Object)))
	}
	p.list(t)
	p.status(d.Status)
	p.findings(d.Findings)
	return p.flush(w)
}

func (p *page) list(t terminal.Table) {
	if t.Len() == 0 {
		p.WriteString("  none\n")
		return
	}
	p.table(t)
}

// ports writes ports with their routes below them.
func (p *page) ports(ports []Port, none string) {
	if len(ports) == 0 {
		p.WriteString("  " + none + "\n")
	}
	for _, port := range ports {
		name := fmt.Sprintf("%d", port.Port)
		if port.Service != "" {
			name = port.Service + ":" + name
		}
		fmt.Fprintf(p, "  %s %s", p.s.Cyan(name), port.Protocol)
		switch port.TLS {
		case model.TLSStrict:
			p.WriteString("; TLS is required")
		case model.TLSPermissive:
			p.WriteString("; with and without TLS")
		}
		if port.Through != nil {
			p.WriteString("; through " + p.kinds.Object(*port.Through))
		}
		if port.Timeouts != "" {
			p.WriteString("; timeouts: " + port.Timeouts)
		}
		p.WriteString("  " + p.s.Dim(p.kinds.Origin(port.Origin)) + "\n")
		if len(port.Routes) == 0 && port.Timeouts == "" {
			p.WriteString("    " + p.s.Yellow("no routes") + "\n")
		}
		if limits := phrases.CircuitBreaker(port.CircuitBreaker); limits != "" {
			fmt.Fprintf(p, "    at the same time at most %s\n", limits)
		}
		for _, line := range port.Health {
			p.WriteString("    " + line + "\n")
		}
		for _, r := range port.Routes {
			p.route(r)
		}
	}
}

func (p *page) route(r Route) {
	var targets []string
	for _, t := range r.Targets {
		name := p.kinds.Object(t.Object)
		if t.Port != 0 {
			name += fmt.Sprintf(" port %d", t.Port)
		}
		if len(r.Targets) > 1 {
			name = t.Share + " " + name
		}
		targets = append(targets, name)
	}
	if r.Service != nil {
		targets = []string{p.kinds.Object(r.Service.Object)}
		if r.Service.Port != 0 {
			targets[0] += fmt.Sprintf(" port %d", r.Service.Port)
		}
	}
	fmt.Fprintf(p, "    %s → %s  %s\n", r.Match, cmp.Or(strings.Join(targets, ", "), p.s.Yellow("no destination")),
		p.s.Dim(p.kinds.Origin(r.Origin)))
	if len(r.Rewrites) > 0 {
		fmt.Fprintf(p, "      rewrites: %s\n", strings.Join(r.Rewrites, ", "))
	}
	if r.Retries != "" {
		fmt.Fprintf(p, "      retries: %s\n", r.Retries)
	}
	if r.Timeouts != "" {
		fmt.Fprintf(p, "      timeouts: %s\n", r.Timeouts)
	}
}

func (p *page) callers(all []Caller, routes bool) {
	if len(all) == 0 {
		p.WriteString("  no workload of the mesh\n")
		return
	}
	t := terminal.Table{Headings: []string{"WORKLOAD", "SERVICE"}}
	if routes {
		t.Headings = append(t.Headings, "ROUTE", "SHARE")
	}
	for _, c := range all {
		row := []string{p.kinds.Object(c.Object), fmt.Sprintf("%s:%d", c.Service, c.Port)}
		if routes {
			row = append(row, c.Route, c.Share)
		}
		t.Row(row...)
	}
	p.table(t)
}

func (p *page) findings(all []model.Finding) {
	p.heading("Findings")
	if len(all) == 0 {
		p.WriteString("  none\n")
	}
	for _, f := range all {
		fmt.Fprintf(p, "  %s %s %s: %s\n", p.s.Severity(string(f.Severity)), p.s.Link(findings.URL(string(f.Code)), string(f.Code)),
			p.s.Dim(p.kinds.Field(f.Object, f.Path)), f.Text)
	}
}
