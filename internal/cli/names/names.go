// Package names finds out how host names of services resolve.
//
// In: the state of the mesh, a service, and the DNS mode of a client. Out: the addresses that the client gets, who
// answers, and the object that has the addresses.
package names

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Kind is what a name resolves to.
type Kind string

const (
	// ClusterIP is the address of a Service. In files, the address is not known.
	ClusterIP Kind = "ClusterIP"
	// Pods are the addresses of the pods of a headless Service.
	Pods Kind = "Pods"
	// ExternalName is the name in a Service of type ExternalName.
	ExternalName Kind = "ExternalName"
	// Hostname is the hostname of a destination of the service, which no Service has.
	Hostname Kind = "Hostname"
	// Reserved are reserved addresses.
	Reserved Kind = "Reserved"
	// None means that neither the agent nor the DNS of the cluster knows the name.
	None Kind = "None"
)

// Answer is how a name resolves.
type Answer struct {
	Kind Kind `json:"kind"`
	// Addresses are those of kinds ClusterIP and Reserved.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Agent is true if the agent of the client answers, false if the DNS of the cluster does.
	Agent bool `json:"agent,omitempty"`
	// Of is the Service or the object of the destination with the name.
	Of model.Origin `json:"of,omitzero"`
	// InCluster is what the DNS of the cluster knows.
	InCluster Kind `json:"inCluster"`
	// Target is the name of kind ExternalName.
	Target string `json:"target,omitempty"`
	// off is true if the mode is the reason for kind None.
	off   bool
	kinds dialect.KindNames
}

// Resolver finds the Services and destinations with the names of services.
type Resolver struct {
	index    *model.Index
	services map[types.NamespacedName]*corev1.Service
	kinds    dialect.KindNames
}

// NewResolver returns a resolver for a state of the mesh.
func NewResolver(s *engine.State) *Resolver {
	r := &Resolver{
		index: s.Index, services: map[types.NamespacedName]*corev1.Service{},
		kinds: dialect.KindNamesOfObjects(s.Objects),
	}
	for _, o := range s.Objects {
		if service, is := o.(*corev1.Service); is {
			r.services[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}] = service
		}
	}
	return r
}

// Resolve returns how the names of a service resolve for clients with a DNS mode that have the service as a backend.
func (r *Resolver) Resolve(service model.Service, mode model.DNSMode) Answer {
	a := r.InCluster(service)
	if !mode.Answers(service) {
		a.off = a.Kind == None
		return a
	}
	switch {
	case a.Kind == ClusterIP:
		a.Agent = true
	case len(service.Reserved) > 0:
		a.Kind, a.Addresses, a.Agent = Reserved, service.Reserved, true
	}
	return a
}

// InCluster returns how the names of a service resolve for clients whose agents do not answer them.
func (r *Resolver) InCluster(service model.Service) Answer {
	a := r.inCluster(service)
	a.InCluster, a.kinds = a.Kind, r.kinds
	return a
}

func (r *Resolver) inCluster(service model.Service) Answer {
	for _, host := range Of(service) {
		at, ok := r.Service(host, service.Origin.Object().Namespace)
		if !ok {
			continue
		}
		cluster := r.services[types.NamespacedName{Namespace: at.Object().Namespace, Name: at.Object().Name}]
		switch {
		case len(service.Addresses) > 0:
			return Answer{Kind: ClusterIP, Addresses: Known(service.Addresses), Of: at}
		case cluster.Spec.Type == corev1.ServiceTypeExternalName:
			at.Path = "spec.externalName"
			return Answer{Kind: ExternalName, Of: at, Target: cluster.Spec.ExternalName}
		}
		at.Path = "spec.clusterIP"
		return Answer{Kind: Pods, Of: at}
	}
	if len(service.Addresses) > 0 {
		return Answer{Kind: ClusterIP, Addresses: service.Addresses, Of: service.Origin}
	}
	if service.Unresolved {
		return Answer{Kind: None, Of: service.Origin}
	}
	return Answer{Kind: Hostname, Of: r.destination(service)}
}

// Service returns the Service that a host name refers to in the cluster's DNS, as a pod of a namespace writes it.
func (r *Resolver) Service(host, namespace string) (model.Origin, bool) {
	name, ok := store.ServiceName(host, namespace)
	at := model.NewOrigin(model.ObjectRef{Kind: "Service", Namespace: name.Namespace, Name: name.Name})
	return at, ok && r.services[name] != nil
}

// destination returns the origin of the destination of a service whose hostname is the name of the service.
func (r *Resolver) destination(service model.Service) model.Origin {
	for _, d := range r.index.Model.Destinations {
		if d.Mesh == service.Mesh && strings.EqualFold(d.Discovery.Hostname, service.Name) {
			return d.Origin
		}
	}
	return service.Origin
}

// Of returns the name and the aliases of a service.
func Of(service model.Service) []string { return service.HostNames() }

// Known removes addresses that stand for those that the cluster assigns.
func Known(all []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(all), manifest.Assumed)
}

// Addresses formats addresses.
func Addresses(all []netip.Addr) string {
	if all = Known(all); len(all) == 0 {
		return "assigned by the cluster"
	}
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = a.String()
	}
	return strings.Join(texts, " ")
}

// Host describes what an agent answers for a host name.
func Host(h model.Host) string {
	if len(h.Destinations) > 0 {
		return "ready pods of " + strings.Join(h.Destinations, ", ")
	}
	return Addresses(h.Addresses)
}

// Value describes what the name resolves to.
func (a Answer) Value() string {
	switch a.Kind {
	case ClusterIP, Reserved:
		return Addresses(a.Addresses)
	case Pods:
		return "its pods"
	case ExternalName:
		return a.Target
	case Hostname:
		return "external hostname"
	}
	return "none"
}

// Source describes who answers, and what the cluster knows.
func (a Answer) Source() string {
	object := a.kinds.Object(a.Of.Object())
	known := map[Kind]string{
		ClusterIP: object, ExternalName: object, Pods: "headless " + object, Hostname: "hostname of " + object,
		None: "no Service has this name",
	}[a.InCluster]
	switch {
	case a.Agent:
		return "agent: " + known
	case a.Kind != None:
		return "cluster DNS: " + known
	case a.off:
		return known + ", and the DNS mode is Off"
	}
	return known + ", and no reserved address is left"
}
