package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/phrases"
	"anymesh.dev/anymesh/internal/cli/terminal"
)

// ordered takes an object apart, in the order of the names.
func ordered(dump []byte) ([]resource, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(dump, &all); err != nil {
		return nil, err
	}
	var out []resource
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := resource{name: name, body: all[name]}
		if err := json.Unmarshal(r.body, &r.keys); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// Outline writes the configuration in words: listeners, what is done with connections on each port, the routes of requests, and the
// clusters that they lead to.
func (e *Envoy) Outline(w io.Writer, s terminal.Style) error {
	o := outline{s: s, e: e}
	for _, l := range e.listeners {
		fmt.Fprintf(&o, "%s %s  %s\n", s.Bold("listener"), s.Cyan(l.Name), s.Dim(strings.ToLower(l.TrafficDirection)+" "+l.Address.text()))
		for _, chain := range l.Chains {
			o.chain(chain, chain.matches())
		}
		if l.Default != nil {
			o.chain(*l.Default, "anything else")
		}
		o.WriteString("\n")
	}
	o.WriteString(s.Bold("clusters") + "\n")
	t := terminal.Table{Indent: "  ", Headings: []string{"NAME", "TYPE", "ADDRESSES"}}
	for _, c := range e.clusters {
		t.Row(s.Cyan(c.Name), strings.ToLower(c.Type), strings.Join(c.addresses(), ", "))
	}
	if err := t.Write(&o, s); err != nil {
		return err
	}
	_, err := io.WriteString(w, o.String())
	return err
}

type outline struct {
	strings.Builder
	s terminal.Style
	e *Envoy
}

func (o *outline) chain(c filterChain, matches string) {
	fmt.Fprintf(o, "  %s → ", matches)
	if c.TransportSocket != nil {
		o.WriteString("TLS → ")
	}
	for _, f := range c.Filters {
		routes := f.Config.Inline
		if named, ok := o.e.routes[f.Config.RDS.Name]; ok {
			routes = &named
		}
		switch {
		case f.Config.RDS.Name != "":
			o.WriteString("requests, routed by " + o.s.Cyan(f.Config.RDS.Name) + "\n")
			o.routes(routes)
			return
		case routes != nil:
			o.WriteString("requests\n")
			o.routes(routes)
			return
		case f.Config.Cluster != "" || len(f.Config.Weighted.Clusters) > 0:
			o.WriteString(o.targets(f.Config.Cluster, f.Config.Weighted))
			if f.Config.Idle != "" {
				o.WriteString(o.s.Dim("  idle " + f.Config.Idle))
			}
			o.WriteString("\n")
			return
		}
	}
	o.WriteString(o.s.Yellow("closed") + "\n")
}

func (o *outline) routes(routes *envoyRoutes) {
	if routes == nil {
		o.WriteString("    " + o.s.Red("this route table is not there") + "\n")
		return
	}
	for _, host := range routes.Hosts {
		fmt.Fprintf(o, "    %s\n", strings.Join(host.Domains, ", "))
		if len(host.Routes) == 0 {
			o.WriteString("      " + o.s.Yellow("no routes: 404") + "\n")
		}
		for _, r := range host.Routes {
			fmt.Fprintf(o, "      %s → %s\n", r.matches(), o.action(r))
		}
	}
}

func (o *outline) action(r envoyRoute) string {
	switch {
	case r.Direct != nil:
		return o.s.Yellow(fmt.Sprintf("answer %d", r.Direct.Status))
	case r.Route == nil:
		return "something else"
	}
	text := o.targets(r.Route.Cluster, r.Route.Weighted)
	var limits []string
	for _, l := range []struct{ name, value string }{{"timeout", r.Route.Timeout}, {"idle", r.Route.Idle}} {
		if l.value != "" {
			limits = append(limits, l.name+" "+l.value)
		}
	}
	if p := r.Route.Retry; p != nil && p.On != "" {
		n := 1 // Envoy's own default
		if p.Number != nil {
			n = *p.Number
		}
		retry := fmt.Sprintf("%d retries on %s", n, strings.ReplaceAll(p.On, ",", ", "))
		if len(p.Codes) > 0 {
			retry = strings.Replace(retry, "retriable-status-codes", "status "+phrases.Numbers(p.Codes), 1)
		}
		if p.PerTry != "" {
			retry += " within " + p.PerTry + " each"
		}
		limits = append(limits, retry)
	}
	if len(limits) > 0 {
		text += o.s.Dim("  " + strings.Join(limits, "; "))
	}
	return text
}

func (o *outline) targets(cluster string, weighted weightedClusters) string {
	if cluster != "" {
		return o.s.Cyan(cluster)
	}
	var total uint32
	for _, c := range weighted.Clusters {
		total += c.Weight
	}
	var parts []string
	for _, c := range weighted.Clusters {
		parts = append(parts, phrases.Share(c.Weight, total)+" "+o.s.Cyan(c.Name))
	}
	return strings.Join(parts, ", ")
}

func (r envoyRoute) matches() string {
	var text string
	switch m := r.Match; {
	case m.Path != "":
		text = "path is " + m.Path
	case m.Regex.Regex != "":
		text = "path matches " + m.Regex.Regex
	case m.Prefix != nil && *m.Prefix != "":
		text = "path begins with " + *m.Prefix
	default:
		text = "any path"
	}
	if n := len(r.Match.Headers); n > 0 {
		text += ", " + terminal.Count(n, "condition", "conditions") + " on headers"
	}
	if n := len(r.Match.Query); n > 0 {
		text += ", " + terminal.Count(n, "condition", "conditions") + " on the query"
	}
	return text
}

func (c filterChain) matches() string {
	var parts []string
	if c.Match.Port != 0 {
		parts = append(parts, fmt.Sprintf("port %d", c.Match.Port))
	}
	for _, p := range c.Match.Prefixes {
		parts = append(parts, fmt.Sprintf("%s/%d", p.Address, p.Length))
	}
	if len(c.Match.ServerNames) > 0 {
		parts = append(parts, "TLS for "+strings.Join(c.Match.ServerNames, ", "))
	}
	if len(parts) == 0 {
		return "anything"
	}
	return strings.Join(parts, ", ")
}

func (c envoyCluster) addresses() []string {
	var out []string
	for _, locality := range c.Assignment.Endpoints {
		for _, e := range locality.LB {
			out = append(out, e.Endpoint.Address.text())
		}
	}
	if len(out) == 0 {
		out = []string{"-"}
	}
	return out
}

func (a envoyAddress) text() string {
	if a.Pipe.Path != "" {
		return a.Pipe.Path
	}
	return fmt.Sprintf("%s:%d", a.Socket.Address, a.Socket.Port)
}
