package describe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/names"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// mostClients limits the workloads in a line.
const mostClients = 3

// Name is a host name of a service, and how it resolves.
type Name struct {
	Name string `json:"name"`
	names.Answer
	// Clients are the workloads to which this applies; empty if it applies to all.
	Clients []model.ObjectRef `json:"clients,omitempty"`
}

// namesOf returns how the names of a service resolve: one entry per name if they resolve in the same way for all
// workloads with this backend, else one per name and DNS mode of these workloads.
func namesOf(s *engine.State, r *names.Resolver, service model.Service) []Name {
	clients := map[model.DNSMode][]model.ObjectRef{}
	for _, w := range s.Index.Model.Workloads {
		isBackend := s.Index.MayReach(w, service.Name)
		if w.Mesh == service.Mesh && isBackend {
			mode := cmp.Or(w.DNS, model.DNSUnresolved)
			clients[mode] = append(clients[mode], w.Origin.Object())
		}
	}
	if len(clients) == 0 {
		clients[model.DNSUnresolved] = nil
	}
	var out []Name
	for _, host := range names.Of(service) {
		first := len(out)
		for _, mode := range slices.Sorted(maps.Keys(clients)) {
			n := Name{Name: host, Answer: r.Resolve(service, mode), Clients: clients[mode]}
			same := slices.IndexFunc(out[first:], func(o Name) bool {
				return o.Value() == n.Value() && o.Source() == n.Source()
			})
			if same < 0 {
				out = append(out, n)
				continue
			}
			o := &out[first+same]
			o.Clients = append(slices.Clip(o.Clients), n.Clients...)
		}
		if len(out) == first+1 {
			out[first].Clients = nil
		}
	}
	return out
}

// names writes how names resolve.
func (p *page) names(all []Name) {
	p.heading("Names")
	several := slices.ContainsFunc(all, func(n Name) bool { return len(n.Clients) > 0 })
	t := terminal.Table{Headings: []string{"NAME", "RESOLVES TO", "ANSWERED BY"}}
	if several {
		t.Headings = append(t.Headings, "FOR")
	}
	for _, n := range all {
		value := n.Value()
		if n.Kind == names.None {
			value = p.s.Yellow(value)
		}
		row := []string{n.Name, value, n.Source()}
		if several {
			var clients []string
			for _, c := range n.Clients[:min(len(n.Clients), mostClients)] {
				clients = append(clients, p.kinds.Object(c))
			}
			if more := len(n.Clients) - mostClients; more > 0 {
				clients = append(clients, fmt.Sprintf("and %d more", more))
			}
			row = append(row, strings.Join(clients, ", "))
		}
		t.Row(row...)
	}
	p.table(t)
}

// hosts writes the names that an agent answers.
func (p *page) hosts(all []model.Host) {
	if len(all) == 0 {
		return
	}
	p.heading("Names that its agents answer")
	t := terminal.Table{Headings: []string{"NAME", "ADDRESSES"}}
	for _, h := range all {
		t.Row(h.Name, names.Host(h))
	}
	p.table(t)
}

// values describes in short what the name of a service resolves to.
func (p *page) values(all []Name) string {
	var out []string
	for _, n := range all {
		value, _, _ := strings.Cut(n.Value(), " ") // the first address
		if len(n.Addresses) == 0 {
			value = n.Value()
		}
		if n.Kind == names.None {
			value = p.s.Yellow(value)
		}
		if !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return strings.Join(out, " or ")
}
