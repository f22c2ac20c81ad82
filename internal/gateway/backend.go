package gateway

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// sliceRule adds the endpoints of Services.
type sliceRule struct {
	ready     *incremental.Emitter[string, struct{}]
	pods      *incremental.Emitter[string, podPort]
	endpoints store.Output[model.Instance, model.Endpoint]
}

func (r *sliceRule) evaluate(id types.NamespacedName, all []*discoveryv1.EndpointSlice) {
	slice := all[0]
	service := types.NamespacedName{Namespace: id.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
	if service.Name == "" || slice.AddressType == discoveryv1.AddressTypeFQDN || slice.DeletionTimestamp != nil {
		return
	}
	for port, groups := range groupsOfPorts(service, slice.Ports) {
		for _, e := range slice.Endpoints {
			r.endpoint(id, e, model.Endpoint{
				Workload: model.Key{Mesh: Mesh, Name: service.String()}, Port: port, Groups: groups,
			})
		}
	}
}

// groupsOfPorts returns the groups of each TCP port number: several ports of a Service may lead to one of its pods.
func groupsOfPorts(service types.NamespacedName, ports []discoveryv1.EndpointPort) map[uint16][]string {
	groups := map[uint16][]string{}
	for _, p := range ports {
		if p.Port != nil && (p.Protocol == nil || *p.Protocol == corev1.ProtocolTCP) {
			number := uint16(*p.Port)
			groups[number] = append(groups[number], group(service, deref(p.Name)))
		}
	}
	for _, names := range groups {
		slices.Sort(names)
	}
	return groups
}

// endpoint adds an endpoint on a port. It has no UID, because its pod may be an instance of another workload.
func (r *sliceRule) endpoint(id types.NamespacedName, e discoveryv1.Endpoint, on model.Endpoint) {
	if len(e.Addresses) == 0 {
		return
	}
	address, err := netip.ParseAddr(e.Addresses[0])
	if err != nil {
		return
	}
	on.Instance = model.Instance{
		Namespace: id.Namespace, Name: fmt.Sprintf("%s/%s/%d", id.Name, address, on.Port),
	}
	on.Addresses, on.Ready = []netip.Addr{address}, e.Conditions.Ready == nil || *e.Conditions.Ready
	for _, group := range on.Groups {
		if on.Ready {
			r.ready.Emit(group, struct{}{})
		}
		if ref := e.TargetRef; ref != nil && ref.Kind == "Pod" {
			pod := model.Instance{Namespace: ref.Namespace, Name: ref.Name, UID: string(ref.UID)}
			r.pods.Emit(group, podPort{pod, on.Port})
		}
	}
	r.endpoints.Emit(on)
}

func deref(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

// group names the endpoints of a port of a Service.
func group(service types.NamespacedName, port string) string { return service.String() + ":" + port }

// backendRule makes destinations of the ports that paths name.
type backendRule struct {
	Settings
	services     *incremental.Reader[types.NamespacedName, *corev1.Service]
	ready        *incremental.Reader[string, struct{}]
	pods         *incremental.Reader[string, podPort]
	endpoints    *incremental.Reader[model.Instance, model.Endpoint]
	workloads    *incremental.Reader[model.Key, model.Workload]
	targets      *incremental.Emitter[Backend, resolvedBackend]
	destinations store.Output[model.Key, model.Destination]
}

func (r *backendRule) evaluate(b Backend, _ []model.ObjectRef) {
	port, code, fault := r.find(b)
	if fault != "" {
		r.targets.Emit(b, resolvedBackend{fault: fault, code: code})
		return
	}
	d := model.Destination{
		Key: model.Key{Mesh: Mesh, Name: fmt.Sprintf("%s:%d", b.Service, port.Port)}, Port: uint16(port.Port),
		Protocol:  protocolOf(port),
		Discovery: model.Discovery{Kind: model.DiscoverInstances, Group: group(b.Service, port.Name)},
		Origin:    model.NewOrigin(model.ObjectRef{Kind: "Service", Namespace: b.Service.Namespace, Name: b.Service.Name}),
	}
	// HTTP/2 limits each stream by itself, so that a connection is read although the backend does not read a request.
	noSendTimeout := b.SendTimeout > 0 && d.Protocol.Multiplexed()
	if b.SendTimeout > 0 && !noSendTimeout {
		d.SendTimeout = b.SendTimeout
		d.Name += "/send-" + time.Duration(b.SendTimeout).String() // another destination: the timeout is that of connections
	}
	if d.TLS, fault = r.clientTLS(d.Discovery.Group); fault != "" {
		r.targets.Emit(b, resolvedBackend{fault: fault, code: model.CodeBackendTLS})
		return
	}
	r.destinations.Emit(d)
	_, ready := r.ready.ReadFirst(d.Discovery.Group)
	r.targets.Emit(b, resolvedBackend{destination: d.Name, ready: ready, noSendTimeout: noSendTimeout})
}

// find returns the port of the Service, or why there is none. Those of type ExternalName are not served: who can write
// one in a namespace could reach any name from the network of the gateway.
func (r *backendRule) find(b Backend) (port corev1.ServicePort, code model.Code, fault string) {
	service, known := r.services.ReadFirst(b.Service)
	if !known {
		return port, model.CodeReferenceNotFound, fmt.Sprintf("Service %s does not exist", b.Service)
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName {
		return port, model.CodeFieldNotImplemented,
			api.ExternalNameFault(b.Service.String())
	}
	for _, p := range service.Spec.Ports {
		if b.Name != "" && p.Name == b.Name || b.Name == "" && p.Port == b.Number {
			return p, "", ""
		}
	}
	if b.Name != "" {
		return port, model.CodeReferenceNotFound, fmt.Sprintf("Service %s has no port with the name %s", b.Service, b.Name)
	}
	return port, model.CodeReferenceNotFound, fmt.Sprintf("Service %s has no port %d", b.Service, b.Number)
}

// protocolOf returns the protocol of a port by its application protocol.
func protocolOf(p corev1.ServicePort) model.Protocol {
	if p.AppProtocol == nil {
		return model.HTTP
	}
	switch *p.AppProtocol {
	case "kubernetes.io/h2c", "http2", "h2c":
		return model.HTTP2
	case "grpc":
		return model.GRPC
	}
	return model.HTTP
}
