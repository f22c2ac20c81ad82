package osm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/api/osm/unserved"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// uneffective is a kind whose objects have no effect.
type uneffective struct {
	group, kind string
	// reason completes the finding.
	reason string
	// others is true if another product may serve the objects of namespaces that are not members.
	others bool
}

const (
	noPlugins  = "sidecars run no modules of users"
	noClusters = "the mesh has the Services of its own cluster only"
)

// OptionalKinds returns the kinds of Open Service Mesh and osm-edge that have no effect, and that the cluster may have
// from there.
func (Dialect) OptionalKinds() []client.Object {
	return []client.Object{
		&unserved.UDPRoute{}, &unserved.MultiClusterService{}, &unserved.ServiceExport{}, &unserved.ServiceImport{},
		&unserved.GlobalTrafficPolicy{}, &unserved.Plugin{}, &unserved.PluginChain{}, &unserved.PluginConfig{},
	}
}

// addWithoutEffect adds the rules for kinds that have no effect.
func (r *rules) addWithoutEffect(g *incremental.Graph, objects *store.Objects) {
	withoutEffect[*policy.EgressGateway](r, g, objects, uneffective{
		policy.GroupVersion.Group, "EgressGateway",
		"connections to destinations outside of the mesh go from the sidecar of the client, through no gateway", false,
	})
	withoutEffect[*policy.AccessCert](r, g, objects, uneffective{
		policy.GroupVersion.Group, "AccessCert",
		"clients outside of the mesh get no certificates of it; an IngressBackend names those that they have", false,
	})
	withoutEffect[*unserved.UDPRoute](r, g, objects, uneffective{
		unserved.Specs.Group, "UDPRoute", "UDP is not captured: every pod may send it", false,
	})
	withoutEffect[*unserved.MultiClusterService](r, g, objects, uneffective{
		unserved.Config.Group, "MultiClusterService", noClusters, false,
	})
	clusters, plugins := unserved.Clusters.Group, unserved.Plugins.Group
	withoutEffect[*unserved.ServiceExport](r, g, objects, uneffective{clusters, "ServiceExport", noClusters, true})
	withoutEffect[*unserved.ServiceImport](r, g, objects, uneffective{clusters, "ServiceImport", noClusters, true})
	withoutEffect[*unserved.GlobalTrafficPolicy](r, g, objects, uneffective{
		clusters, "GlobalTrafficPolicy", noClusters, true,
	})
	withoutEffect[*unserved.Plugin](r, g, objects, uneffective{plugins, "Plugin", noPlugins, true})
	withoutEffect[*unserved.PluginChain](r, g, objects, uneffective{plugins, "PluginChain", noPlugins, true})
	withoutEffect[*unserved.PluginConfig](r, g, objects, uneffective{plugins, "PluginConfig", noPlugins, true})
}

// withoutEffect adds a rule that reports each object of a kind as an error. One that another product may serve, because
// it is not in a member namespace, has a warning.
func withoutEffect[T client.Object](r *rules, g *incremental.Graph, objects *store.Objects, of uneffective) {
	rule := incremental.NewRule(g, of.kind)
	access := r.readsPolicies(rule)
	incremental.Each(rule, store.Of[T](objects), &access, func(r *policyRule, _ types.NamespacedName, all []T) {
		at, severity, is := r.reported(of, all[0])
		if !is {
			return
		}
		f := model.NewFinding(at, model.CodeFieldNotImplemented, "has no effect: "+of.reason)
		f.Severity = severity
		r.findings.Emit(f)
	})
}

// reported returns the severity of the finding about an object. It reports false if the object has none, or another.
func (r *policyRule) reported(of uneffective, o metav1.Object) (at model.Origin, severity model.Severity, is bool) {
	if !of.others {
		at, _, is = r.member(of.group, of.kind, o)
		return at, model.Error, is
	}
	at = originOf(of.group, of.kind, o)
	mesh, is := r.of(o.GetNamespace())
	if !is {
		return at, model.Warning, !r.foreign(o.GetNamespace())
	}
	r.members.Emit(at.Object(), mesh)
	return at, model.Error, true
}
