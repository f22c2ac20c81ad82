package l7mp

import (
	"fmt"
	"net/netip"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/model"
)

// cluster is what proxies connect to: a Target, a VirtualService or a Service.
type cluster struct {
	// kind is the kind of the object.
	kind string
	transport
	discovery model.Discovery
	balance   model.Balance
	// placed selects the pods whose proxies have it; nil means all.
	placed *selector
	// usable is false if the cluster has no effect. Findings say why.
	usable bool
	origin model.Origin
}

// destination returns the item of the model.
func (c *cluster) destination(name string) model.Destination {
	out := model.Destination{
		Key: model.Key{Mesh: mesh, Name: name}, Port: c.port, Discovery: c.discovery, Balance: c.balance,
		Header: c.header, Local: c.local, Origin: c.origin,
	}
	out.Protocol, out.Transport = c.spoken()
	return out
}

// selection is what a selector selects pods for.
type selection struct {
	*selector
	// group is the group that the endpoints of the pods join; empty for none.
	group string
	// listener is the VirtualService whose listener the proxies of the pods get; nil for none.
	listener *listener
	origin   model.Origin
}

// cluster reads the cluster of a Target, or one without a name. group names its endpoints. linked returns what
// clients of a VirtualService connect to.
func (p *parser) cluster(of *api.Cluster, link, group, path string,
	linked func(reference) (*cluster, bool)) (*cluster, []selection) {
	out := &cluster{kind: api.KindTarget, origin: p.at.At(path)}
	if of == nil {
		of = &api.Cluster{}
	}
	out.balance = p.balance(of.LoadBalancer, path+".loadbalancer")
	if of.Options != nil {
		p.report(path+".options", model.CodeInvalidField, "has no effect: clusters have no options")
	}
	if of.EndpointNum != 0 {
		p.report(path+".endpointNum", model.CodeInvalidField, "has no effect: the endpoints are counted")
	}
	if link != "" {
		p.link(out, of, link, path, linked)
		return out, nil
	}
	if of.Spec == nil {
		p.report(path+".spec", model.CodeInvalidField, "the protocol is missing")
		return out, nil
	}
	var ok bool
	if out.transport, ok = p.transport(of.Spec.Raw, path+".spec"); !ok {
		return out, nil
	}
	if out.protocol.Local() {
		out.discovery, out.usable = model.Discovery{Kind: model.DiscoverNone}, true
		if len(of.Endpoints) > 0 {
			p.report(path+".endpoints", model.CodeInvalidField, "has no effect: the proxy itself serves the protocol")
		}
		if of.LoadBalancer != nil {
			p.report(path+".loadbalancer", model.CodeInvalidField, "has no effect: the proxy itself serves the protocol")
		}
		return out, nil
	}
	selections := p.endpoints(out, of.Endpoints, group, path)
	return out, selections
}

// link sets the protocol, the port and the endpoints of a VirtualService.
func (p *parser) link(out *cluster, of *api.Cluster, link, path string, linked func(reference) (*cluster, bool)) {
	const field = "spec.linkedVirtualService"
	if of.Spec != nil || len(of.Endpoints) > 0 {
		p.report(path, model.CodeInvalidField, "spec and endpoints have no effect: they are those of %s", link)
	}
	ref, ok := p.reference(link, api.KindVirtualService, field)
	if !ok {
		return
	}
	to, known := linked(ref)
	if !known {
		p.report(field, model.CodeReferenceNotFound, "there is no VirtualService and no Service %s", ref.NamespacedName)
		return
	}
	out.transport, out.discovery, out.usable = to.transport, to.discovery, to.usable
	out.peer = netip.AddrPort{} // that of the clients of the VirtualService
	if !to.usable {
		p.report(field, model.CodeReferenceNotFound, "%s is not served", to.origin.Object())
	}
}

// endpoints sets the endpoints: addresses, or pods.
func (p *parser) endpoints(out *cluster, all []api.Endpoint, group, path string) []selection {
	var selections []selection
	var addresses []model.StaticAddress
	var weights []model.GroupWeight
	for i, e := range all {
		at := fmt.Sprintf("%s.endpoints[%d]", path, i)
		if e.Selector == nil {
			if a, ok := p.address(out, e, at); ok {
				addresses = append(addresses, a)
			}
			continue
		}
		of := selection{selector: p.selector(e.Selector, p.namespace, at+".selector"), group: group, origin: p.at.At(at)}
		selections = append(selections, of)
		if weight := weightOf(e); weight > 0 {
			of.group = fmt.Sprintf("%s/weight/%d", group, weight)
			selections = append(selections, of)
			weights = append(weights, model.GroupWeight{Group: of.group, Weight: weight})
		}
	}
	if out.protocol == model.Unix && out.socket != "" && len(all) == 0 {
		addresses = []model.StaticAddress{{Socket: out.socket}}
	}
	switch {
	case len(selections) > 0:
		out.discovery = model.Discovery{
			Kind: model.DiscoverInstances, Group: group, Weights: weights, Addresses: addresses,
		}
	case len(addresses) > 0:
		out.discovery = model.Discovery{Kind: model.DiscoverStatic, Addresses: addresses}
	case len(all) == 0:
		p.report(path+".endpoints", model.CodeInvalidField, "the cluster has no endpoint")
		return nil
	default:
		return nil // each has a finding
	}
	out.usable = true
	return selections
}

// address reads the address of an endpoint. A unix socket has its file in one of several fields.
func (p *parser) address(of *cluster, e api.Endpoint, path string) (model.StaticAddress, bool) {
	spec := e.Spec
	if spec == nil {
		p.report(path, model.CodeInvalidField, "has neither an address nor a selector")
		return model.StaticAddress{}, false
	}
	if spec.Port != 0 {
		p.report(path+".spec.port", model.CodeInvalidField, "has no effect: the port is %d, that of the cluster", of.port)
	}
	out := model.StaticAddress{}
	out.Weight = weightOf(e)
	if of.protocol != model.Unix {
		if spec.Address == "" {
			p.report(path+".spec.address", model.CodeInvalidField, "is missing")
		}
		if spec.Filename != "" {
			p.report(path+".spec.filename", model.CodeInvalidField, "has no effect: the protocol has no files")
		}
		out.Host = spec.Address
		return out, spec.Address != ""
	}
	for _, file := range []string{of.socket, spec.Filename, spec.Address} {
		if out.Socket != "" && file != "" && file != out.Socket {
			p.report(path+".spec", model.CodeInvalidField, "names two different files: %s and %s", out.Socket, file)
			return model.StaticAddress{}, false
		}
		if file != "" {
			out.Socket = file
		}
	}
	if out.Socket == "" {
		p.report(path+".spec.filename", model.CodeInvalidField, "is missing")
	}
	return out, out.Socket != ""
}

// weightOf returns the weight of an endpoint, which is in one of two fields; 0 if it has none.
func weightOf(e api.Endpoint) uint32 {
	switch {
	case e.Weight != nil:
		return uint32(max(*e.Weight, 0))
	case e.Spec != nil && e.Spec.Weight != nil:
		return uint32(max(*e.Spec.Weight, 0))
	}
	return 0
}

// balance reads the load balancing.
func (p *parser) balance(of *api.LoadBalancer, path string) model.Balance {
	if of == nil {
		return model.Balance{}
	}
	switch of.Policy {
	case "", "None", "Trivial", "RoundRobin", "EqualRoundRobin", "Random":
	case "ConsistentHash", "HashRing":
		if of.Key != "" {
			return model.Balance{Policy: model.ConsistentHash, HashKey: of.Key}
		}
	default:
		p.notImplemented(path+".policy", "the policy "+of.Policy)
	}
	return model.Balance{}
}
