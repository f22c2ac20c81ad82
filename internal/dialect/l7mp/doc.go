// Package l7mp is the dialect of the l7mp service mesh: VirtualService, Route and Target of group l7mp.io.
//
// In: the objects of the group, and Services and Pods. Out: a workload for the pods of a namespace with the same
// labels, with a listener and a router for each VirtualService that selects them, and the destinations that their
// routes name. All functions are pure.
//
// A name in a route is that of a Target, else of a VirtualService, else of a Service; see resolve.go. The destination
// of a name keeps its own name whatever the name means, so that routes do not change when its meaning does.
package l7mp

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/api/crds"
	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/dialect"
)

// mesh is the name of the only mesh of the dialect: the API has no meshes.
const mesh = "l7mp"

// Dialect is the dialect with its settings.
type Dialect struct {
	// TrustDomain is the trust domain of the pods' identities. The default is dialect.DefaultTrustDomain.
	TrustDomain string
}

// What the dialect is besides a dialect.
var (
	_ dialect.Configurable = Dialect{}
	_ dialect.Injection    = Dialect{}
	_ dialect.Manifests    = Dialect{}
	_ dialect.PodWorkloads = Dialect{}

	_ dialect.PreferredFeatures = Dialect{}
	_ dialect.Statuses          = Dialect{}
)

// Name is the name of the folder.
func (Dialect) Name() string { return "l7mp" }

// Title is the display name.
func (Dialect) Title() string { return "l7mp" }

// AddToScheme adds the kinds of the group to a scheme.
func (Dialect) AddToScheme(scheme *runtime.Scheme) error { return api.AddToScheme(scheme) }

// Definitions returns the CustomResourceDefinitions of the group.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return crds.OfGroup(api.GroupVersion.Group)
}

// Kinds returns an empty object of each kind that the rules read.
func (Dialect) Kinds() []client.Object {
	return []client.Object{
		&corev1.Service{}, &corev1.Pod{}, &api.VirtualService{}, &api.Route{}, &api.Target{},
	}
}

// Values returns nil: the dialect has no settings of its own.
func (Dialect) Values() any { return nil }

// Configure returns the dialect with the trust domain.
func (Dialect) Configure(s dialect.Settings) (dialect.Dialect, error) {
	return Dialect{TrustDomain: s.TrustDomain}, nil
}

func (d Dialect) trustDomain() string {
	if d.TrustDomain == "" {
		return dialect.DefaultTrustDomain
	}
	return d.TrustDomain
}
