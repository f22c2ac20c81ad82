package gateway

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// Path is a path of a host name.
type Path struct {
	Match model.StringMatch
	// Secret is the Secret with the certificate of the host: HTTPS serves the path, and HTTP redirects to it. It is empty
	// for a path on Port, or on all ports.
	Secret  string
	Backend Backend
	// Default is true for the path of the requests that match no other one of their object. The same path of another
	// object takes precedence.
	Default bool
	// Fallback is the backend in place of one without ready endpoint; the zero value is none.
	Fallback Backend
	Rewrite  *model.Rewrite
	Timeouts model.Timeouts
	// Port is the only port of the gateway's pods with the path, HTTPPort or HTTPSPort; 0 means all. A path with a port
	// has Split or Redirect in place of Backend.
	Port     uint16
	Split    []WeightedBackend
	Redirect *model.Redirect
	// Clients is that of the routes.
	Clients *model.ClientRanges
	// Canary is nil for a path that is not the canary of another one.
	Canary *Canary
	Origin model.Origin
}

// backendField is the path of the field that names the Service.
func (a Path) backendField() string {
	if a.Default {
		return a.Origin.Path + ".service"
	}
	return a.Origin.Path + ".backend.service"
}

// WeightedBackend is one of several backends of a path.
type WeightedBackend struct {
	Backend
	Weight uint32
	// Field is the path of the field that names it.
	Field string
}

// Backend is a port of a Service, by number or by name.
type Backend struct {
	Service types.NamespacedName
	Number  int32
	Name    string
	// SendTimeout is that of the destination.
	SendTimeout model.Duration
}

// resolvedBackend is what a backend stands for: a destination, or the reason why there is none.
type resolvedBackend struct {
	destination string
	// ready is true if the backend has a ready endpoint.
	ready bool
	// noSendTimeout is set if the send timeout has no effect.
	noSendTimeout bool
	fault         string
	code          model.Code // of the fault
}

// Hosts is the part of a rule that emits paths of hosts.
type Hosts struct {
	paths   *incremental.Emitter[string, Path]
	secured *incremental.Emitter[allKey, model.HostCertificate]
	used    *incremental.Emitter[Backend, model.ObjectRef]
}

// EmitsHosts declares that a rule emits paths of hosts.
func (r *Gateway) EmitsHosts(rule *incremental.Rule) Hosts {
	return Hosts{incremental.Emits(rule, r.paths), incremental.Emits(rule, r.secured), incremental.Emits(rule, r.used)}
}

// Serve adds a path of a host, which is in lower case.
func (h Hosts) Serve(host string, p Path) {
	for _, b := range append([]WeightedBackend{{Backend: p.Backend}, {Backend: p.Fallback}}, p.Split...) {
		if b.Backend != (Backend{}) {
			h.used.Emit(b.Backend, p.Origin.Object())
		}
	}
	h.paths.Emit(host, p)
}

// Secure adds the certificate of a host: a Secret, as NAMESPACE/NAME. Of several, that of the oldest object is served.
func (h Hosts) Secure(host, secret string, at model.Origin) {
	h.secured.Emit(allKey{}, model.HostCertificate{
		Hosts: []string{host}, Origin: at,
		Certificate: model.Certificate{Secret: model.Secret{Provider: model.ProviderKubernetes, Name: secret}},
	})
}

// Addresses is the part of a rule that reads the addresses of the gateway.
type Addresses struct {
	all *incremental.Reader[allKey, string]
}

// ReadsAddresses declares that a rule reads the addresses of the gateway.
func (r *Gateway) ReadsAddresses(rule *incremental.Rule) Addresses {
	return Addresses{incremental.Reads(rule, r.addresses)}
}

// Read returns the addresses, IP addresses or host names, sorted.
func (a Addresses) Read() []string { return slices.Compact(slices.Clone(a.all.Read(allKey{}))) }

func newGateway(g *incremental.Graph) *Gateway {
	return &Gateway{
		ready: incremental.NewRelation[string](g, "ready endpoints", func(struct{}, struct{}) int { return 0 },
			func(struct{}, struct{}) bool { return true }),
		pods: incremental.NewRelation[string](g, "pods of backends", podPort.compare,
			func(a, b podPort) bool { return a == b }),
		addresses: incremental.NewRelation[allKey](g, "addresses of the gateway", strings.Compare,
			func(a, b string) bool { return a == b }),
		paths: incremental.NewRelation[string](g, "paths", Path.compare,
			func(a, b Path) bool { return reflect.DeepEqual(a, b) }),
		secured: incremental.NewRelation[allKey](g, "certificates", func(a, b model.HostCertificate) int {
			return cmp.Or(slices.Compare(a.Hosts, b.Hosts), a.Origin.CompareAge(b.Origin),
				strings.Compare(a.Origin.Path, b.Origin.Path),
				strings.Compare(a.Certificate.Secret.Name, b.Certificate.Secret.Name))
		}, func(a, b model.HostCertificate) bool { return reflect.DeepEqual(a, b) }),
		used: incremental.NewRelation[Backend](g, "backends", model.ObjectRef.Compare,
			func(a, b model.ObjectRef) bool { return a == b }),
		targets: incremental.NewRelation[Backend](g, "destinations of backends",
			func(a, b resolvedBackend) int {
				return cmp.Or(strings.Compare(a.destination, b.destination), strings.Compare(a.fault, b.fault),
					strings.Compare(strconv.FormatBool(a.ready), strconv.FormatBool(b.ready)),
					strings.Compare(strconv.FormatBool(a.noSendTimeout), strconv.FormatBool(b.noSendTimeout)))
			}, func(a, b resolvedBackend) bool { return a == b }),
	}
}

// compare orders paths as they are matched: exact ones first, then longer ones. Of equal ones, that of the oldest
// object is first, and default ones are last.
func (a Path) compare(b Path) int {
	exact := func(p Path) int {
		if p.Match.Kind == model.Exact {
			return 0
		}
		return 1
	}
	last := func(p Path) int {
		if p.Default {
			return 1
		}
		return 0
	}
	return cmp.Or(exact(a)-exact(b), len(b.Match.Value)-len(a.Match.Value), strings.Compare(a.Match.Value, b.Match.Value),
		last(a)-last(b), a.Origin.CompareAge(b.Origin), strings.Compare(a.Origin.Path, b.Origin.Path),
		cmp.Compare(a.Port, b.Port))
}
