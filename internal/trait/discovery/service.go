package discovery

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// service returns the Service of the Route: one port for each port of the containers, and those that rules ask for.
func (s *search) service(backends []provider.Backend) *unstructured.Unstructured {
	t, _ := s.template()
	ports := slices.Clone(t.ports)
	for _, b := range backends {
		known := func(p port) bool { return p.number == b.Port && p.protocol == tcp }
		if !slices.ContainsFunc(ports, known) {
			ports = append(ports, port{number: b.Port, protocol: tcp})
		}
	}
	var list []any
	names := map[string]bool{}
	for _, p := range ports {
		name := p.name
		if name == "" || names[name] {
			name = fmt.Sprintf("%s-%d", strings.ToLower(p.protocol), p.number)
		}
		names[name] = true
		list = append(list, map[string]any{
			"name": name, "port": int64(p.number), "targetPort": int64(p.number), "protocol": p.protocol,
		})
	}
	selector := map[string]any{}
	for name, value := range t.labels {
		selector[name] = value
	}
	out := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"type": "ClusterIP", "selector": selector, "ports": list},
	}}
	out.SetGroupVersionKind(ServiceKind)
	out.SetNamespace(s.route.Namespace)
	out.SetName(s.route.Name)
	if labels := ApplicationLabels(s.route.Labels); len(labels) > 0 {
		out.SetLabels(labels)
	}
	return out
}

// taken returns a reason if the name of the Route's Service is that of another Service.
func (s *search) taken() *provider.Reason {
	now := s.Get(ServiceKind, s.route.Namespace, s.route.Name)
	if now == nil || metav1.IsControlledBy(now, s.route) {
		return nil
	}
	return &provider.Reason{Reason: "ServiceExists", Message: fmt.Sprintf("Service %s exists and does not belong to the "+
		"Route, which needs a Service of this name; set serviceName: %s in the backendService of each rule to use it, or "+
		"rename one of them", s.route.Name, s.route.Name)}
}
