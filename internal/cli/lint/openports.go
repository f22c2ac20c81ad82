package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// closedPorts returns findings about ports of listeners that no container of the selected pods has, and that the
// Service of their host name does not have. Containers without any port say nothing: they may listen on ports that they
// do not name. The proxy of a gateway opens the ports itself.
func closedPorts(state *engine.State, selectors []podSelector, objects []client.Object) []model.Finding {
	selected := map[model.ObjectRef][]*corev1.Pod{}
	for _, s := range selectors {
		selected[s.at.Object()] = s.selected
	}
	var out []model.Finding
	for _, w := range state.Index.Model.Workloads {
		if w.Role == model.RoleGateway {
			continue
		}
		ports, who := containerPorts(selected[w.Origin.Object()])
		if len(ports) == 0 {
			continue
		}
		for _, l := range w.Listeners {
			if l.Port != 0 && !l.Datagrams() && !slices.Contains(ports, int32(l.Port)) {
				out = append(out, model.NewFinding(l.Origin, model.CodeClosedPort, fmt.Sprintf(
					"no container of %s has the port %d of the listener; the containers have %s", who, l.Port, numbers(ports))))
			}
		}
	}
	return append(out, closedServicePorts(state, objects)...)
}

// closedServicePorts returns findings about destinations of routes whose host name is a Service without their port.
func closedServicePorts(state *engine.State, objects []client.Object) []model.Finding {
	services := map[types.NamespacedName]*corev1.Service{}
	for _, o := range objects {
		if s, is := o.(*corev1.Service); is {
			services[client.ObjectKeyFromObject(s)] = s
		}
	}
	var out []model.Finding
	used := routed(state)
	for _, d := range state.Index.Model.Destinations {
		if !used[d.Key] {
			continue
		}
		name, inCluster := store.ServiceName(d.Discovery.Hostname, d.Origin.Object().Namespace)
		service := services[name]
		if !inCluster || service == nil || service.Spec.ClusterIP == corev1.ClusterIPNone ||
			service.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		var ports []int32
		for _, p := range service.Spec.Ports {
			ports = append(ports, p.Port)
		}
		if len(ports) > 0 && d.Port != 0 && !slices.Contains(ports, int32(d.Port)) {
			out = append(out, model.NewFinding(d.Origin, model.CodeClosedPort, fmt.Sprintf(
				"Service %s has no port %d, to which clients connect; it has %s", name, d.Port, numbers(ports))))
		}
	}
	return out
}

// routed are the destinations of routes.
func routed(state *engine.State) map[model.Key]bool {
	out := map[model.Key]bool{}
	for _, router := range state.Index.Model.Routers {
		for _, route := range router.Routes {
			for _, d := range route.Action.Destinations {
				out[model.Key{Mesh: router.Mesh, Name: d.Destination}] = true
			}
		}
	}
	return out
}

// containerPorts returns the ports of the containers of pods, and names the pods.
func containerPorts(pods []*corev1.Pod) (ports []int32, who string) {
	var names []string
	for _, pod := range pods {
		own := 0
		for _, c := range pod.Spec.Containers {
			for _, p := range c.Ports {
				ports = append(ports, p.ContainerPort)
				own++
			}
		}
		if own == 0 {
			return nil, ""
		}
		names = append(names, manifest.WorkloadOf(pod))
	}
	slices.Sort(ports)
	slices.Sort(names)
	return slices.Compact(ports), strings.Join(slices.Compact(names), ", ")
}

func numbers(ports []int32) string {
	var out []string
	for _, p := range ports {
		out = append(out, strconv.Itoa(int(p)))
	}
	return strings.Join(out, ", ")
}
