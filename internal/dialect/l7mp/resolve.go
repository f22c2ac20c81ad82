package l7mp

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// wish is a field that names what proxies connect to. Full names are of Targets.
type wish struct {
	kind   string
	origin model.Origin
}

// kindService is the kind of Services of Kubernetes.
const kindService = "Service"

// services finds what clients of a VirtualService or of a Service connect to.
type services struct {
	virtualServices *incremental.Reader[types.NamespacedName, *virtualService]
	services        *incremental.Reader[types.NamespacedName, *corev1.Service]
	used            *incremental.Emitter[service, struct{}]
}

// service is a VirtualService or a Service.
type service struct {
	kind string
	types.NamespacedName
}

// group is the endpoint group of the pods.
func (s service) group() string { return strings.ToLower(s.kind) + "/" + s.String() }

func (r *rules) findsServices(rule *incremental.Rule) services {
	return services{
		incremental.Reads(rule, r.virtualServices), incremental.Reads(rule, r.services),
		incremental.Emits(rule, r.used),
	}
}

// find returns the VirtualService with a name, else the Service with the name, as if it were a VirtualService without
// rules.
func (s *services) find(name types.NamespacedName) (*cluster, bool) {
	if v, known := s.virtualServices.ReadFirst(name); known {
		s.used.Emit(service{api.KindVirtualService, name}, struct{}{})
		return v.cluster(), true
	}
	of, known := s.services.ReadFirst(name)
	if !known {
		return nil, false
	}
	out := clusterOfService(of)
	if out.discovery.Kind == model.DiscoverInstances {
		s.used.Emit(service{kindService, name}, struct{}{})
	}
	return out, true
}

// cluster returns what clients connect to: the socket of the listener at the pods of the selector.
func (v *virtualService) cluster() *cluster {
	out := &cluster{
		kind: api.KindVirtualService, transport: v.transport, usable: v.usable && v.protocol != model.Unix,
		discovery: model.Discovery{
			Kind: model.DiscoverInstances, Group: service{api.KindVirtualService, v.name}.group(),
		},
		origin: v.origin,
	}
	out.peer = netip.AddrPort{}
	return out
}

// clusterOfService returns what clients of a Service connect to: the port of its pods, or its name in the DNS of the
// cluster if it selects none or its port has another number in each pod. A Service with several ports is not usable.
func clusterOfService(s *corev1.Service) *cluster {
	name := nameOf(s)
	out := &cluster{kind: kindService, origin: originOf("", kindService, s)}
	if len(s.Spec.Ports) != 1 {
		return out
	}
	port := s.Spec.Ports[0]
	out.usable = true
	switch {
	case port.Protocol == corev1.ProtocolUDP:
		out.protocol = model.UDP
	case port.Protocol == corev1.ProtocolSCTP:
		out.usable = false
	case port.AppProtocol != nil && *port.AppProtocol == "http":
		out.protocol = model.HTTP
	case port.AppProtocol != nil && *port.AppProtocol == "kubernetes.io/ws":
		out.protocol = model.WebSocket
	default:
		out.protocol = model.TCP
	}
	out.port = uint16(port.Port)
	switch external := s.Spec.Type == corev1.ServiceTypeExternalName; {
	case external:
		out.discovery = model.Discovery{Kind: model.DiscoverDNS, Hostname: s.Spec.ExternalName}
	case len(s.Spec.Selector) == 0 || port.TargetPort.Type == intstr.String:
		out.discovery = model.Discovery{
			Kind: model.DiscoverDNS, Hostname: fmt.Sprintf("%s.%s.svc.cluster.local", name.Name, name.Namespace),
		}
	default:
		if port.TargetPort.IntVal != 0 {
			out.port = uint16(port.TargetPort.IntVal)
		}
		out.discovery = model.Discovery{
			Kind: model.DiscoverInstances, Group: service{kindService, name}.group(),
		}
	}
	return out
}

// nameRule resolves a name, in four steps.
type nameRule struct {
	services
	targets      *incremental.Reader[types.NamespacedName, *cluster]
	resolved     *incremental.Emitter[types.NamespacedName, *cluster]
	destinations store.Output[model.Key, model.Destination]
	findings     store.Output[model.ObjectRef, model.Finding]
}

func (r *nameRule) evaluate(name types.NamespacedName, wishes []wish) {
	to, known := r.targets.ReadFirst(name) // 1: a Target
	if !known {
		to, known = r.find(name) // 2: a VirtualService, 3: a Service
	}
	if known {
		r.resolved.Emit(name, to)
		if to.usable {
			r.destinations.Emit(to.destination(name.String()))
		}
	}
	for _, w := range wishes {
		if fault := fault(name, w, to); fault != "" { // 4: an error
			r.findings.Emit(model.NewFinding(w.origin, model.CodeReferenceNotFound, fault))
		}
	}
}

// fault returns why a name leads nowhere, or "". Of a Target, findings of its own say why it does not.
func fault(name types.NamespacedName, w wish, to *cluster) string {
	switch {
	case w.kind != "" && (to == nil || to.kind != w.kind):
		return fmt.Sprintf("there is no %s %s", w.kind, name)
	case to == nil:
		return fmt.Sprintf("there is no Target, no VirtualService and no Service %s", name)
	case to.kind == kindService && !to.usable:
		return fmt.Sprintf("Service %s has not one port of TCP or UDP only; make a VirtualService for one of its ports", name)
	case !to.usable && to.kind == api.KindVirtualService:
		return fmt.Sprintf("%s is not served", to.origin.Object())
	}
	return ""
}
