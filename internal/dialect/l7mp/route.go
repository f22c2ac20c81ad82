package l7mp

import (
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/model"
)

// route is a Route, or one without a name.
type route struct {
	// destination is nil if it is invalid.
	destination     *hop
	ingress, egress []hop
	// faulty is true if a part of a chain is invalid: connections must not pass beside it.
	faulty bool
	retry  model.Retry
	origin model.Origin
}

// hop is an entry of a route: a name, or a cluster without one.
type hop struct {
	reference
	// inline is the name of the destination of a cluster without a name, which is here, too.
	inline  string
	cluster *cluster
	origin  model.Origin
}

// inlineCluster is a cluster without a name, with the name of its destination.
type inlineCluster struct {
	name string
	*cluster
}

// inlineClusters collects the clusters without a name of an object.
type inlineClusters struct {
	prefix     string
	clusters   []inlineCluster
	selections []selection
}

// hops lists all entries.
func (r *route) hops() []hop {
	out := append(append([]hop(nil), r.ingress...), r.egress...)
	if r.destination != nil {
		out = append(out, *r.destination)
	}
	return out
}

// route reads a route.
func (p *parser) route(of *api.RouteSpec, path string, inline *inlineClusters) *route {
	out := &route{origin: p.at.At(path), retry: p.retry(of.Retry, path+".retry")}
	given := 0
	for _, d := range []struct {
		field string
		value *apiextensionsv1.JSON
	}{{"destination", of.Destination}, {"cluster", of.Cluster}} {
		if d.value != nil {
			given++
			out.destination, _ = p.hop(d.value.Raw, path+"."+d.field, inline)
		}
	}
	if of.DestinationRef != "" {
		given++
		if ref, ok := p.reference(of.DestinationRef, api.KindTarget, path+".destinationRef"); ok {
			out.destination = &hop{reference: ref, origin: p.at.At(path + ".destinationRef")}
		}
	}
	if given != 1 {
		p.report(path+".destination", model.CodeInvalidField, "a route needs one destination, and has %d", given)
		out.destination = nil
	}
	for _, chain := range []struct {
		field string
		all   []apiextensionsv1.JSON
		into  *[]hop
	}{{"ingress", of.Ingress, &out.ingress}, {"egress", of.Egress, &out.egress}} {
		for i, raw := range chain.all {
			h, ok := p.hop(raw.Raw, fmt.Sprintf("%s.%s[%d]", path, chain.field, i), inline)
			if !ok {
				out.faulty = true
				continue
			}
			*chain.into = append(*chain.into, *h)
		}
	}
	return out
}

// hop reads an entry of a route: a name, {"clusterRef": NAME}, {"cluster": ENTRY}, the cluster of a Target, or its
// spec.
func (p *parser) hop(raw []byte, path string, inline *inlineClusters) (*hop, bool) {
	if name, is := text(raw); is {
		ref, ok := p.reference(name, api.KindTarget, path)
		return &hop{reference: ref, origin: p.at.At(path)}, ok
	}
	object, ok := p.object(raw, path)
	if !ok {
		return nil, false
	}
	if name, is := text(object["clusterRef"]); is {
		ref, ok := p.reference(name, api.KindTarget, path+".clusterRef")
		return &hop{reference: ref, origin: p.at.At(path + ".clusterRef")}, ok
	}
	if inner := object["cluster"]; inner != nil {
		return p.hop(inner, path+".cluster", inline)
	}
	var of api.Cluster
	if len(object) == 1 && !isClusterField(object) {
		of.Spec = &apiextensionsv1.JSON{Raw: raw}
	} else if !p.decode(raw, &of, path) {
		return nil, false
	}
	name := fmt.Sprintf("%s/%d", inline.prefix, len(inline.clusters))
	c, selections := p.cluster(&of, "", name, path, nil)
	inline.clusters = append(inline.clusters, inlineCluster{name, c})
	inline.selections = append(inline.selections, selections...)
	return &hop{inline: name, cluster: c, origin: p.at.At(path)}, true
}

// isClusterField reports whether an object has a field of a cluster, and is no spec.
func isClusterField[V any](object map[string]V) bool {
	for key := range object {
		switch strings.ToLower(key) {
		case "name", "spec", "endpoints", "endpointnum", "loadbalancer", "options":
			return true
		}
	}
	return false
}

// retry reads the retries of a route.
func (p *parser) retry(of *api.Retry, path string) model.Retry {
	if of == nil {
		return model.Retry{}
	}
	out := model.Retry{Retries: 1}
	switch of.RetryOn {
	case "", "never":
		return model.Retry{}
	case "connect-failure":
		out.Conditions = []model.RetryCondition{model.RetryConnectFailure}
	case "disconnect":
		out.Conditions = []model.RetryCondition{model.RetryDisconnect}
	case "always":
		out.Conditions = []model.RetryCondition{model.RetryConnectFailure, model.RetryDisconnect}
	default:
		p.report(path+".retry_on", model.CodeInvalidField, "%q is not never, connect-failure, disconnect or always",
			of.RetryOn)
		return model.Retry{}
	}
	if of.NumRetries != nil {
		out.Retries = uint32(max(*of.NumRetries, 0))
	}
	if of.Timeout != nil {
		out.Pause = model.Duration(max(*of.Timeout, 0)) * model.Duration(time.Millisecond)
	}
	return out
}
