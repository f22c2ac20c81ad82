package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/cli/names"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// resolution is how a host name resolves for a sender.
type resolution struct {
	// address is the first address; invalid if it is not known.
	address netip.Addr
	step    model.Step
	pod     bool // the name is that of one pod
	// fails is true if no DNS server that the mesh knows of has the name.
	fails bool
}

// resolve returns how a host name resolves.
func (f *finder) resolve(from lookup.Workload, host string) resolution {
	s, resolver, namespace, live := f.state, f.resolver, from.Origin.Object().Namespace, f.live
	host = strings.TrimSuffix(host, ".")
	service, ok := s.ServiceOf(from.Mesh, host, namespace)
	if registered, is := resolveRegistered(s, from, host); !ok && is {
		return registered
	}
	if pod, is := resolvePod(s, from, host, namespace); !ok && is {
		return pod
	}
	if !ok {
		step := model.Step{Text: host + " is not a service of the mesh: the cluster's DNS resolves it"}
		of, exists := resolver.Service(host, namespace)
		switch {
		case exists:
			step.Origin = of
		case live && ofCluster(host):
			return resolution{step: model.Step{Text: "no Service is called " + host}, fails: true}
		default:
			step.Text += ", if it knows the name"
		}
		return resolution{step: step}
	}
	a := resolver.Resolve(service, from.DNS)
	isBackend := slices.ContainsFunc(s.Views[from.Key].Hosts, func(h model.Host) bool {
		return strings.EqualFold(h.Name, strings.TrimSuffix(service.Name, "."))
	})
	if a.Agent && !isBackend {
		a = resolver.InCluster(service)
	}
	out := resolution{address: addressOf(a, service), step: model.Step{Text: sentence(a, host), Origin: a.Of}}
	switch {
	case a.Kind != names.None:
	case from.DNS == model.DNSOff:
		out.step.Text += ", and the DNS mode of the sender is Off: only another DNS server can resolve it"
	case len(service.Reserved) == 0:
		out.step.Text += ", and no reserved address is left"
		out.fails = true
	default:
		out.step.Text += ", and the agent answers names of backends only"
		out.step.Origin, out.fails = from.Origin, true
	}
	return out
}

// ofCluster reports whether only the DNS of the cluster knows a name: NAME and NAME.NAMESPACE.svc, with or without a
// domain.
func ofCluster(host string) bool {
	labels := strings.Split(strings.ToLower(host), ".")
	return len(labels) == 1 || len(labels) > 2 && labels[2] == "svc"
}

// resolveRegistered resolves the name of a service registry: the agent answers the ready pods of destinations.
func resolveRegistered(s *engine.State, from lookup.Workload, host string) (resolution, bool) {
	hosts := s.Views[from.Key].Hosts
	i := slices.IndexFunc(hosts, func(h model.Host) bool {
		return strings.EqualFold(h.Name, host) && len(h.Destinations) > 0
	})
	if i < 0 {
		return resolution{}, false
	}
	out := resolution{step: model.Step{Text: fmt.Sprintf("the agent answers the addresses of the %s", names.Host(hosts[i]))}}
	for _, name := range hosts[i].Destinations {
		to, _ := s.Index.ResolvedDestination(model.Key{Mesh: from.Mesh, Name: name})
		out.step.Origin = to.Destination.Origin
		for _, e := range to.Endpoints {
			if len(e.Addresses) > 0 {
				out.address = e.Addresses[0]
				return out, true
			}
		}
	}
	return out, true
}

// resolvePod resolves POD.SERVICE, the name of a pod of a StatefulSet with a headless Service.
func resolvePod(s *engine.State, from lookup.Workload, host, namespace string) (resolution, bool) {
	name, of, _ := strings.Cut(host, ".")
	service, ok := s.ServiceOf(from.Mesh, of, namespace)
	if !ok {
		return resolution{}, false
	}
	for _, e := range s.Index.Model.Endpoints {
		for _, address := range e.Addresses {
			if e.Instance.Name == name && slices.Contains(service.Pods, model.ServicePod{Address: address, Workload: e.Workload.Name}) {
				text := fmt.Sprintf("%s has the address %s of pod %s/%s", host, address, e.Instance.Namespace, name)
				if len(names.Known([]netip.Addr{address})) == 0 {
					text = fmt.Sprintf("%s is the name of pod %s/%s", host, e.Instance.Namespace, name)
				}
				return resolution{address: address, pod: true, step: model.Step{Text: text, Origin: service.Origin}}, true
			}
		}
	}
	return resolution{}, false
}

// addressOf returns the first address of an answer.
func addressOf(a names.Answer, service model.Service) netip.Addr {
	switch {
	case a.Kind == names.ClusterIP && len(service.Addresses) > 0:
		return service.Addresses[0] // of files, an assumed one
	case len(a.Addresses) > 0:
		return a.Addresses[0]
	case a.Kind == names.Pods && len(service.Pods) > 0:
		return service.Pods[0].Address
	}
	return netip.Addr{}
}

// sentence describes how a name resolves. For kind None, it has no end.
func sentence(a names.Answer, host string) string {
	switch a.Kind {
	case names.ClusterIP:
		if len(a.Addresses) == 0 {
			return host + " has an address that the cluster assigns"
		}
		return fmt.Sprintf("%s has the address %s", host, a.Addresses[0])
	case names.Pods:
		return host + " has the addresses of the pods of a headless Service"
	case names.ExternalName:
		return fmt.Sprintf("%s is an alias of %s", host, a.Value())
	case names.Hostname:
		return fmt.Sprintf("the cluster's DNS resolves %s: it is the hostname of a destination", host)
	case names.Reserved:
		if a.InCluster != names.None {
			return fmt.Sprintf("the agent answers the reserved address %s for %s", a.Addresses[0], host)
		}
		return fmt.Sprintf("no Service is called %s: the agent answers the reserved address %s", host, a.Addresses[0])
	}
	return "no Service is called " + host
}

// hideAssumed removes an address that the files do not have from a decision. host is the name that has it, of a pod or
// of several.
func hideAssumed(d model.Decision, host string, pod bool) model.Decision {
	address := d.Request.Address
	if host == "" || address.IsValid() && len(names.Known([]netip.Addr{address})) > 0 {
		return d
	}
	d.Request.Address = netip.Addr{}
	if d.Pod == address {
		d.Pod = netip.Addr{}
	}
	d.Steps = slices.Clone(d.Steps)
	is := "the client gets the address"
	if pod {
		is = host + " is the name"
	}
	hide := strings.NewReplacer("has address "+address.String(), "has the address of "+host,
		address.String()+" is the address", is)
	for i := range d.Steps {
		d.Steps[i].Text = hide.Replace(d.Steps[i].Text)
	}
	return d
}
