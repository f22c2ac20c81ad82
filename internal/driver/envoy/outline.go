package envoy

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// style colors text for a terminal.
type style = interface {
	Bold(string) string
	Cyan(string) string
	Dim(string) string
	Red(string) string
	Yellow(string) string
}

// Outline writes a summary of a dump: listeners, the action for connections on each port, the routes of requests, and
// their clusters, and the names of certificates.
func (Driver) Outline(w io.Writer, s style, dump []byte) error {
	c, err := readDump(dump)
	if err != nil {
		return err
	}
	o := outline{s: s, c: c}
	for _, l := range c.listeners {
		address := l.Address.text()
		if l.Internal != nil {
			address = "internal"
		}
		fmt.Fprintf(&o, "%s %s  %s\n", s.Bold("listener"), s.Cyan(l.Name),
			s.Dim(strings.ToLower(l.TrafficDirection)+" "+address))
		for _, chain := range l.Chains {
			o.chain(chain, chain.matches())
		}
		if l.Default != nil {
			o.chain(*l.Default, "anything else")
		}
		o.WriteString("\n")
	}
	o.clusters()
	if len(c.secrets) > 0 {
		o.WriteString("\n" + s.Bold("certificates and authorities") + "\n")
	}
	for _, name := range c.secrets {
		o.WriteString("  " + s.Cyan(name) + "\n")
	}
	_, err = io.WriteString(w, o.String())
	return err
}

type outline struct {
	strings.Builder
	s style
	c *configuration
}

func (o *outline) chain(c chainDump, matches string) {
	fmt.Fprintf(o, "  %s → ", matches)
	if c.TransportSocket != nil {
		o.WriteString("TLS → ")
	}
	for _, f := range c.Filters {
		if discovered, is := o.c.filters[f.Name]; is {
			f.Config = discovered
		}
		routes := f.Config.Inline
		if named, ok := o.c.routes[f.Config.RDS.Name]; ok {
			routes = &named
		}
		switch {
		case f.Config.Scopes.Name != "":
			o.WriteString("requests, routed by " + o.s.Cyan(f.Config.Scopes.Name) + "\n")
			o.scopedRoutes(f.Config.Scopes.Name)
			return
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

// scopedRoutes writes the routes of all services on a port.
func (o *outline) scopedRoutes(port string) {
	for _, name := range slices.Sorted(maps.Keys(o.c.routes)) {
		if routes := o.c.routes[name]; strings.HasPrefix(name, port+"/") {
			o.routes(&routes)
		}
	}
}

func (o *outline) routes(routes *routesDump) {
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

func (o *outline) action(r routeDump) string {
	switch {
	case r.Direct != nil:
		return o.s.Yellow(fmt.Sprintf("answer %d", r.Direct.Status))
	case r.Redirect != nil:
		return o.s.Yellow("redirect to " + r.Redirect.text())
	case r.Route == nil:
		return o.s.Yellow("no action that this program knows")
	}
	text := o.targets(r.Route.Cluster, r.Route.Weighted)
	var details []string
	if host := r.Route.Host; host != "" {
		details = append(details, "host to "+host)
	}
	if w := r.Route.Path; w != nil {
		details = append(details, fmt.Sprintf("path %s to %s", w.Pattern.Regex, w.Substitution))
	}
	if r.Route.Prefix != "" {
		details = append(details, "path prefix to "+r.Route.Prefix)
	}
	for _, h := range r.Add {
		details = append(details, fmt.Sprintf("header %s: %s", h.Header.Key, h.Header.Value))
	}
	for _, name := range r.Remove {
		details = append(details, "without header "+name)
	}
	for _, l := range []struct{ name, value string }{{"timeout", r.Route.Timeout}, {"idle", r.Route.Idle}} {
		if l.value != "" {
			details = append(details, l.name+" "+l.value)
		}
	}
	if p := r.Route.Retry; p != nil && p.On != "" {
		n := 1 // Envoy's default
		if p.Number != nil {
			n = *p.Number
		}
		retry := fmt.Sprintf("%d retries on %s", n, strings.ReplaceAll(p.On, ",", ", "))
		if len(p.Codes) > 0 {
			retry = strings.Replace(retry, "retriable-status-codes", "status "+ranges(p.Codes), 1)
		}
		if p.PerTry != "" {
			retry += " within " + p.PerTry + " each"
		}
		details = append(details, retry)
	}
	if len(details) > 0 {
		text += o.s.Dim("  " + strings.Join(details, "; "))
	}
	return text
}

func (r redirectDump) text() string {
	text := cmp.Or(r.Host, "the same host")
	if r.Scheme != "" {
		text = r.Scheme + "://" + text
	}
	if r.Port != 0 {
		text += fmt.Sprintf(":%d", r.Port)
	}
	if path := cmp.Or(r.Path, r.Prefix); path != "" {
		text += ", path " + path
	}
	if r.Code != "" {
		text += ", " + strings.ToLower(strings.ReplaceAll(r.Code, "_", " "))
	}
	return text
}

func (o *outline) targets(cluster string, weighted weightedDump) string {
	if cluster != "" {
		return o.s.Cyan(cluster)
	}
	var total uint32
	for _, c := range weighted.Clusters {
		total += c.Weight
	}
	var parts []string
	for _, c := range weighted.Clusters {
		parts = append(parts, fmt.Sprintf("%.1f%%", 100*float64(c.Weight)/float64(max(total, 1)))+" "+o.s.Cyan(c.Name))
	}
	return strings.Join(parts, ", ")
}

func (c chainDump) matches() string {
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

func (a addressDump) text() string {
	if a.Pipe.Path != "" {
		return a.Pipe.Path
	}
	if a.Internal.Listener != "" {
		return "listener " + a.Internal.Listener
	}
	return fmt.Sprintf("%s:%d", a.Socket.Address, a.Socket.Port)
}

// ranges lists numbers in order, with ranges for three or more consecutive numbers: 500-508, 510.
func ranges(all []uint16) string {
	all = slices.Sorted(slices.Values(all))
	var parts []string
	for i := 0; i < len(all); i++ {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		if j < i+2 {
			parts = append(parts, strconv.Itoa(int(all[i])))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d-%d", all[i], all[j]))
		i = j
	}
	return strings.Join(parts, ", ")
}
