package parcel

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// mesh is the name of the only mesh of this dialect.
const mesh = "parcel"

// app identifies the pods of a VirtualService.
type app struct{ namespace, label string }

// Rules adds the rules from VirtualServices to workloads, services, routes and destinations, and from Pods to
// endpoints.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	apps := incremental.NewRelation[app](g, "apps", model.Key.Compare, func(a, b model.Key) bool { return a == b })
	rule := incremental.NewRule(g, "VirtualService")
	incremental.Each(rule, store.Of[*VirtualService](objects), &serviceRule{
		trustDomain: d.trustDomain,
		namespaces:  incremental.Reads(rule, store.Of[*corev1.Namespace](objects)),
		apps:        incremental.Emits(rule, apps), members: incremental.Emits(rule, out.Members),
		meshes: out.EmitsMeshes(rule), workloads: out.EmitsWorkloads(rule), services: out.EmitsServices(rule),
		routers: out.EmitsRouters(rule), destinations: out.EmitsDestinations(rule), findings: out.EmitsFindings(rule),
	}, (*serviceRule).evaluate)
	rule = incremental.NewRule(g, "Pod")
	incremental.Each(rule, store.Of[*store.Pod](objects),
		&podRule{d.trustDomain, incremental.Reads(rule, apps), out.EmitsEndpoints(rule)}, (*podRule).evaluate)
}

// podRule translates Pods. Its fields are all that it reads and emits.
type podRule struct {
	trustDomain string
	apps        *incremental.Reader[app, model.Key]
	endpoints   store.Output[model.Instance, model.Endpoint]
}

func (r *podRule) evaluate(id types.NamespacedName, all []*store.Pod) {
	pod := all[0]
	key, ok := r.apps.ReadFirst(app{id.Namespace, pod.Labels.Get("app")})
	if ok && !pod.Terminated {
		r.endpoints.Emit(store.EndpointOf(pod, key, r.trustDomain))
	}
}

// serviceRule translates VirtualServices.
type serviceRule struct {
	trustDomain  string
	namespaces   *incremental.Reader[types.NamespacedName, *corev1.Namespace]
	apps         *incremental.Emitter[app, model.Key]
	members      *incremental.Emitter[model.ObjectRef, string]
	meshes       store.Output[string, model.Mesh]
	workloads    store.Output[model.Key, model.Workload]
	services     store.Output[model.Key, model.Service]
	routers      store.Output[model.Key, model.Router]
	destinations store.Output[model.Key, model.Destination]
	findings     store.Output[model.ObjectRef, model.Finding]
}

func (r *serviceRule) evaluate(id types.NamespacedName, all []*VirtualService) {
	v := all[0]
	if v.DeletionTimestamp != nil {
		return
	}
	at := originOf(v)
	ns, known := r.namespaces.ReadFirst(types.NamespacedName{Name: id.Namespace})
	if !known || !member(ns.Labels) {
		r.findings.Emit(model.NewFinding(at, model.CodeNoMesh,
			"namespace "+id.Namespace+" has no label "+memberLabel+": yes"))
		return
	}
	key := workloadOf(v)
	r.members.Emit(at.Object(), mesh)
	r.apps.Emit(app{v.Namespace, v.Spec.App}, key)
	r.emit(v, key, at)
}

// emit adds the model items of a VirtualService.
func (r *serviceRule) emit(v *VirtualService, key model.Key, at model.Origin) {
	port, name := uint16(v.Spec.Port), key.Name
	r.meshes.Emit(model.Mesh{Name: mesh, TrustDomain: r.trustDomain, Egress: model.EgressAllow, Origin: at})
	r.workloads.Emit(model.Workload{
		Key: key, Role: model.RoleSidecar, BackendsAll: true, NodeID: "parcel/" + v.Namespace + "/" + v.Name,
		StatsTags: []model.StatsTag{{Name: nodeTag, Value: v.Name}},
		Listeners: []model.Listener{{Port: port, Protocol: model.HTTP, Origin: at.At("spec.port")}}, Origin: at,
	})
	r.destinations.Emit(model.Destination{
		Key: key, Workload: name, Port: port, Protocol: model.HTTP,
		Discovery: model.Discovery{Kind: model.DiscoverInstances}, Origin: at,
	})
	r.routers.Emit(model.Router{
		Key: key, Ports: []model.RouterPort{{Port: port, Protocol: model.HTTP, Origin: at}}, Origin: at,
		Routes: []model.Route{{
			Name: "all", Protocol: model.HTTP, Origin: at,
			Action: model.Action{Destinations: []model.WeightedDestination{{Destination: name, Weight: 1, Origin: at}}},
		}},
	})
	r.services.Emit(model.Service{
		Key: model.Key{Mesh: mesh, Name: strings.ToLower(v.Spec.Host)}, Router: name, Origin: at.At("spec.host"),
	})
}

func workloadOf(v *VirtualService) model.Key {
	return model.Key{Mesh: mesh, Name: v.Name + "_" + v.Namespace}
}

func originOf(v *VirtualService) model.Origin {
	return model.NewOrigin(model.ObjectRef{Group: groupVersion.Group, Kind: kind, Namespace: v.Namespace, Name: v.Name}).CreatedAt(store.CreatedAt(v))
}

func member(labels map[string]string) bool { return labels[memberLabel] == "yes" }
