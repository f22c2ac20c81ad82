package osm

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
)

// way is a port of a Service to which traffic for a port goes: that port itself, or that of a backend.
type way struct {
	service types.NamespacedName
	port    servicePort
	// podPorts are the numbers of the port in pods, accounts those of the pods.
	podPorts []uint16
	accounts []string
}

// wayReader reads what the ports of Services lead to.
type wayReader struct {
	identities  *incremental.Reader[types.NamespacedName, string]
	targetPorts *incremental.Reader[types.NamespacedName, namedTarget]
	splits      *incremental.Reader[types.NamespacedName, *trafficSplit]
	// clusterServices are the backends of splits.
	clusterServices *incremental.Reader[types.NamespacedName, *corev1.Service]
}

func (r *rules) readsWays(rule *incremental.Rule, objects *store.Objects) wayReader {
	return wayReader{
		incremental.Reads(rule, r.identities), incremental.Reads(rule, r.targetPorts), incremental.Reads(rule, r.splits),
		incremental.Reads(rule, store.Of[*corev1.Service](objects)),
	}
}

// splitsOn returns the TrafficSplits of a Service for a port: those of the requests of matches, and the one that takes
// everything else, which is nil if there is none.
func (r *wayReader) splitsOn(name types.NamespacedName,
	p servicePort) (conditional []*trafficSplit, whole *trafficSplit) {
	for _, s := range r.splits.Read(name) {
		switch {
		case !s.conditional && whole == nil:
			whole = s
		case s.conditional && p.protocol.Requests():
			conditional = append(conditional, s)
		}
	}
	return conditional, whole
}

// waysOf lists the ports that a port of a Service leads to, each once.
func (r *wayReader) waysOf(name types.NamespacedName, p servicePort) []way {
	var out []way
	add := func(service types.NamespacedName, port servicePort) {
		if !slices.ContainsFunc(out, func(w way) bool { return w.service == service }) {
			out = append(out, way{service, port, r.podPorts(service, port), r.identities.Read(service)})
		}
	}
	conditional, whole := r.splitsOn(name, p)
	if whole == nil {
		add(name, p)
	} else {
		conditional = append(conditional, whole)
	}
	for _, s := range conditional {
		for _, b := range s.backends {
			backend, exists := r.clusterServices.ReadFirst(b.service)
			if !exists || b.weight == 0 {
				continue
			}
			if port, found := backendPort(portsOf(backend), p); found {
				add(b.service, port)
			}
		}
	}
	return out
}

// podPorts lists the numbers that a port of a Service has in its pods.
func (r *wayReader) podPorts(service types.NamespacedName, p servicePort) []uint16 {
	if p.targetName == "" {
		return []uint16{p.target}
	}
	var out []uint16
	for _, t := range r.targetPorts.Read(service) {
		if t.name == p.targetName {
			out = append(out, t.number)
		}
	}
	return out
}
