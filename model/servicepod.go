package model

import (
	"net/netip"
	"slices"
)

// ServicePod is a pod of a headless Kubernetes Service.
type ServicePod struct {
	Address netip.Addr `json:"address"`
	// Workload is the name of the workload that it is an instance of.
	Workload string `json:"workload"`
}

// setPods divides the pods of a service for a port for streams. If all streams on the port go to one destination, a
// connection to a pod of its workload goes to this pod, or to each pod if they are its endpoints. Connections to other
// pods follow the routes.
func (p *ReachablePort) setPods(service string, pods []ServicePod) {
	if p.Protocol.Requests() || len(pods) == 0 {
		return
	}
	only := p.onlyDestination()
	for _, pod := range pods {
		if only != nil && (only.Workload == pod.Workload || only.Discovery.Service == service) {
			p.Pods = append(p.Pods, pod.Address)
		} else {
			p.OtherPods = append(p.OtherPods, pod.Address)
		}
	}
}

// onlyDestination returns the destination of all streams on the port, or nil if there are several or none.
func (p *ReachablePort) onlyDestination() *Destination {
	if len(p.Routes) == 0 {
		return nil
	}
	var only *Destination
	for _, to := range p.Routes[0].Action.Destinations { // streams use the first route only
		i := slices.IndexFunc(p.Destinations, func(d *Destination) bool { return d.Name == to.Destination })
		switch {
		case to.Weight == 0:
		case i < 0 || only != nil:
			return nil
		default:
			only = p.Destinations[i]
		}
	}
	return only
}

// hasAddress reports whether the binding has addresses of its own.
func (b *Binding) hasAddress() bool { return len(b.Addresses)+len(b.Pods)+len(b.OtherPods) > 0 }

// matches reports whether a stream to an address is one of the binding.
func (b *Binding) matches(address netip.Addr) bool {
	return !b.MatchAddress || slices.Contains(b.Addresses, address) || slices.Contains(b.Pods, address) ||
		slices.Contains(b.OtherPods, address)
}

// ToPod reports whether a connection to an address goes to the pod with it.
func (b *Binding) ToPod(address netip.Addr) bool {
	return b.MatchAddress && slices.Contains(b.Pods, address)
}

// lacksPods reports whether no address tells the streams of the service from others until it has pods.
func (s *ReachableService) lacksPods(mode DNSMode) bool {
	addresses, _ := s.addresses(mode)
	return s.Service.Headless && len(addresses)+len(s.Service.Pods) == 0
}
