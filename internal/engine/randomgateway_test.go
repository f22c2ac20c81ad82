package engine

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

func (w *cluster) gateway(meta metav1.ObjectMeta) *api.VirtualGateway {
	meta.Name = w.name("vg", 2)
	vg := &api.VirtualGateway{ObjectMeta: meta}
	if w.chance(15) {
		vg.Spec.AWSName = new("shared") // as a VirtualNode, which is no conflict
	}
	vg.Spec.NamespaceSelector = &metav1.LabelSelector{}
	if w.chance(30) {
		vg.Spec.NamespaceSelector.MatchLabels = map[string]string{"mesh": w.name("m", 2)}
	}
	if w.chance(80) {
		vg.Spec.GatewayRouteSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"gateway": meta.Name}}
	}
	vg.Spec.PodSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.name("vn", 3)}}
	for i := range w.random.IntN(3) {
		vg.Spec.Listeners = append(vg.Spec.Listeners, api.VirtualGatewayListener{
			PortMapping: api.GatewayPortMapping{Port: api.PortNumber(8080 + i), Protocol: "http"},
		})
	}
	return vg
}

func (w *cluster) gatewayRoute(meta metav1.ObjectMeta) *api.GatewayRoute {
	meta.Name, meta.Labels = w.name("gr", 4), map[string]string{"gateway": w.name("vg", 2)}
	gr := &api.GatewayRoute{ObjectMeta: meta}
	if w.chance(50) {
		gr.Spec.VirtualGatewayRef = &api.VirtualGatewayReference{
			Namespace: new(w.name("ns", 2)), Name: w.name("vg", 2), UID: types.UID(w.name("vg", 2)),
		}
	}
	if w.chance(30) {
		gr.Spec.Priority = new(int64(w.random.IntN(3)))
	}
	route := &api.HTTPGatewayRoute{}
	route.Match.Prefix = new("/" + w.name("p", 3))
	if w.chance(30) {
		route.Match.Hostname = &api.GatewayRouteHostnameMatch{Exact: new(w.name("h", 2) + ".example")}
	}
	if w.chance(20) {
		route.Match.Port = new(int64(8080 + w.random.IntN(2)))
	}
	route.Action.Target.VirtualService.VirtualServiceRef = &api.VirtualServiceReference{Name: w.name("vs", 3)}
	if w.chance(30) {
		route.Action.Target.Port = new(int64(80 + w.random.IntN(2)))
	}
	gr.Spec.HTTPRoute = route
	return gr
}

// service returns a Service with the name of a VirtualService, which is headless in most cases.
func (w *cluster) service(meta metav1.ObjectMeta) *corev1.Service {
	meta.Name = w.name("vs", 3)
	return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		ClusterIP: []string{corev1.ClusterIPNone, corev1.ClusterIPNone, "10.96.0.1"}[w.random.IntN(3)],
		Selector:  map[string]string{"app": w.name("vn", 3)},
	}}
}
