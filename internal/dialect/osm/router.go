package osm

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/model"
)

// restricted returns a destination for clients that may call the pods of some accounts only.
func (r *serviceRule) restricted(d model.Destination, namespace string, accounts []string) model.Destination {
	d.Name, d.TLS = restrictedName(d.Name, accounts), r.clientTLS(namespace, accounts)
	for _, account := range accounts {
		d.Discovery.Identities = append(d.Discovery.Identities,
			identityOf(r.trustDomain, types.NamespacedName{Namespace: namespace, Name: account}))
	}
	return d
}

// nothing is the name of a destination without endpoints for a port of a Service.
func nothing(service types.NamespacedName, p servicePort) string {
	return fmt.Sprintf("%s:%d/nothing", service, p.number)
}

// router returns the router of a Service, for clients; nil means those without routes of their own.
func (r *serviceRule) router(key model.Key, name types.NamespacedName, s *corev1.Service,
	clients *clientRoutes) model.Router {
	at := originOf("", "Service", s)
	out := model.Router{Key: key, Origin: at}
	for _, p := range portsOf(s) {
		portAt := at.At(fmt.Sprintf("spec.ports[%d]", p.index))
		out.Ports = append(out.Ports, model.RouterPort{Port: p.number, Protocol: p.protocol, Origin: portAt})
		routes, whole := r.splitRoutes(name, p, clients)
		if clients.isEmpty(p) {
			routes, whole = []model.Route{emptyRoute(name, p, portAt)}, true
		}
		if !whole {
			own := model.Route{
				Name: fmt.Sprintf("%s:%d", name, p.number), Port: p.number, Protocol: p.protocol, Origin: portAt,
			}
			destinations := clients.restrict(leg{p.number, name}, r.destinationsOf(name, p))
			if len(destinations) == 0 {
				destinations = r.destinationsOf(name, p)
			}
			for _, d := range destinations {
				own.Action.Destinations = append(own.Action.Destinations,
					model.WeightedDestination{Destination: d.Name, Weight: 1, Origin: portAt})
			}
			routes = append(routes, own)
		}
		if clients != nil && clients.retry != nil && p.protocol.Requests() {
			for i := range routes {
				routes[i].Action.Retry = *clients.retry
			}
		}
		out.Routes = append(out.Routes, routes...)
	}
	return out
}

// unpopulated is the name of a destination without endpoints for clients that wait for pods.
func unpopulated(service types.NamespacedName, p servicePort) string {
	return fmt.Sprintf("%s:%d/without-pods", service, p.number)
}

// emptyRoute leads to no endpoints.
func emptyRoute(service types.NamespacedName, p servicePort, at model.Origin) model.Route {
	return model.Route{
		Name: fmt.Sprintf("%s:%d", service, p.number), Port: p.number, Protocol: p.protocol, Origin: at,
		Action: model.Action{
			Destinations: []model.WeightedDestination{{Destination: unpopulated(service, p), Weight: 1, Origin: at}},
		},
	}
}
