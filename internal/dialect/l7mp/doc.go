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
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/api/crds"
	api "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/sidecar"
)

// mesh is the name of the only mesh of the dialect: the API has no meshes.
const mesh = "l7mp"

// Dialect is the dialect with its settings.
type Dialect struct {
	// TrustDomain is the trust domain of the pods' identities. The default is dialect.DefaultTrustDomain.
	TrustDomain string
	// WithoutAgent is the driver of pods with a container l7mp that was not injected: it configures them over their REST
	// API. Empty if they are left alone.
	WithoutAgent string
}

// What the dialect is besides a dialect.
var (
	_ dialect.Configurable = Dialect{}
	_ dialect.Injection    = Dialect{}
	_ dialect.Manifests    = Dialect{}
	_ dialect.PodWorkloads = Dialect{}

	_ dialect.PreferredFeatures = Dialect{}
	_ dialect.Statuses          = Dialect{}
	_ dialect.WithoutAgent      = Dialect{}
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

// values are the settings of the chart.
type values struct {
	RESTAPI bool `json:"restAPI"`
}

// Values returns the default settings.
func (Dialect) Values() any { return values{} }

// Configure returns the dialect with the trust domain, and the driver of pods that were not injected.
func (d Dialect) Configure(s dialect.Settings) (dialect.Dialect, error) {
	var v values
	if text := s.Values[d.Name()]; len(text) > 0 {
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, err
		}
	}
	out := Dialect{TrustDomain: s.TrustDomain}
	if v.RESTAPI {
		known := s.SidecarClasses
		if known == nil {
			known = sidecar.Drivers()
		}
		out.WithoutAgent = sidecar.Supporting(known, d.PreferredFeatures())
		if out.WithoutAgent == "" {
			return nil, errors.New("restAPI needs an entry in sidecarDrivers of a driver that has chains and conversions of protocols")
		}
	}
	return out, nil
}

// DriverWithoutAgent returns the driver of pods whose proxy has no agent.
func (d Dialect) DriverWithoutAgent() string { return d.WithoutAgent }

func (d Dialect) trustDomain() string {
	if d.TrustDomain == "" {
		return dialect.DefaultTrustDomain
	}
	return d.TrustDomain
}
