package parcel

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/internal/engine/store"
	"anymesh.dev/anymesh/model"
)

// mesh is the name of the only mesh of this dialect.
const mesh = "parcel"

// app identifies the pods of a VirtualService.
type app struct{ namespace, label string }

// Rules adds the rules from VirtualServices to workloads, services, routes and destinations, and from Pods to
// endpoints.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	namespaces := store.Of[*corev1.Namespace](objects)
	apps := incremental.NewRelation[app](g, "apps", model.Key.Compare, func(a, b model.Key) bool { return a == b })
	incremental.AddRule(g, "parcel VirtualService", store.Of[*VirtualService](objects),
		func(t *incremental.Evaluation, id types.NamespacedName, all []*VirtualService) {
			v := all[0]
			if v.DeletionTimestamp != nil {
				return
			}
			at := originOf(v)
			ns, known := namespaces.ReadFirst(t, types.NamespacedName{Name: id.Namespace})
			if !known || !member(ns.Labels) {
				out.Report(t, model.NewFinding(at, model.CodeNoMesh,
					"namespace "+id.Namespace+" has no label "+memberLabel+": yes"))
				return
			}
			key := workloadOf(v)
			out.Members.Emit(t, at.Object, mesh)
			apps.Emit(t, app{v.Namespace, v.Spec.App}, key)
			d.emit(t, out, v, key, at)
		})
	incremental.AddRule(g, "parcel Pod", store.Of[*corev1.Pod](objects),
		func(t *incremental.Evaluation, id types.NamespacedName, all []*corev1.Pod) {
			pod := all[0]
			key, ok := apps.ReadFirst(t, app{id.Namespace, pod.Labels["app"]})
			if ok && !store.Terminated(pod) {
				out.AddEndpoint(t, store.EndpointOf(pod, key, d.trustDomain))
			}
		})
}

// emit adds the model items of a VirtualService.
func (d Dialect) emit(t *incremental.Evaluation, out *store.Model, v *VirtualService, key model.Key, at model.Origin) {
	port, name := uint16(v.Spec.Port), key.Name
	out.AddMesh(t, model.Mesh{Name: mesh, TrustDomain: d.trustDomain, Egress: model.EgressAllow, Origin: at})
	out.AddWorkload(t, model.Workload{
		Key: key, Role: model.RoleSidecar, BackendsAll: true, NodeID: "parcel/" + v.Namespace + "/" + v.Name,
		StatsTags: []model.StatsTag{{Name: nodeTag, Value: v.Name}},
		Listeners: []model.Listener{{Port: port, Protocol: model.HTTP, Origin: at.At("spec.port")}}, Origin: at,
	})
	out.AddDestination(t, model.Destination{
		Key: key, Workload: name, Port: port, Protocol: model.HTTP,
		Discovery: model.Discovery{Kind: model.DiscoverInstances}, Origin: at,
	})
	out.AddRouter(t, model.Router{
		Key: key, Ports: []model.RouterPort{{Port: port, Protocol: model.HTTP, Origin: at}}, Origin: at,
		Routes: []model.Route{{
			Name: "all", Protocol: model.HTTP, Origin: at,
			Action: model.Action{Destinations: []model.WeightedDestination{{Destination: name, Weight: 1, Origin: at}}},
		}},
	})
	out.AddService(t, model.Service{
		Key: model.Key{Mesh: mesh, Name: strings.ToLower(v.Spec.Host)}, Router: name, Origin: at.At("spec.host"),
	})
}

func workloadOf(v *VirtualService) model.Key {
	return model.Key{Mesh: mesh, Name: v.Name + "_" + v.Namespace}
}

func originOf(v *VirtualService) model.Origin {
	return model.Origin{
		Object: model.ObjectRef{Group: groupVersion.Group, Kind: kind, Namespace: v.Namespace, Name: v.Name},
	}
}

func member(labels map[string]string) bool { return labels[memberLabel] == "yes" }
