// Package osm is the dialect of Open Service Mesh: the API groups smi-spec.io and openservicemesh.io.
//
// In: the objects of these groups, and the Namespaces, ServiceAccounts, Services and Pods of monitored namespaces. Out:
// a workload for each ServiceAccount, a service for each Service, and what may call them. All functions are pure.
//
// Services that nobody restricts are reachable by their names in the DNS of the cluster. What a ServiceAccount may do
// is decided by the sidecar of the destination, by the identity in the certificate of the client, so that all members
// share what they know of services, and a change of permissions affects the pods of the destination only.
package osm

import (
	"cmp"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/api/crds"
	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/api/osm/unserved"
	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	split "anymesh.dev/anymesh/api/smi/split/v1alpha4"
	"anymesh.dev/anymesh/internal/dialect"
)

// Dialect is the dialect with its settings.
type Dialect struct {
	// TrustDomain is the trust domain of the pods' identities. The default is dialect.DefaultTrustDomain.
	TrustDomain string
	// MeshName is the name of the mesh in labels of namespaces. The default is defaultMesh.
	MeshName string
	// SidecarClasses are the sidecar drivers that serve pods; nil if they are not known.
	SidecarClasses []string
}

// defaultMesh is the default name of the mesh, as in Open Service Mesh.
const defaultMesh = "osm"

// What the dialect is besides a dialect.
var (
	_ dialect.Configurable = Dialect{}
	_ dialect.Injection    = Dialect{}
	_ dialect.Manifests    = Dialect{}
	_ dialect.Statuses     = Dialect{}
	_ dialect.Transforms   = Dialect{}

	_ dialect.Conversions      = Dialect{}
	_ dialect.SidecarSettings  = Dialect{}
	_ dialect.InjectionReasons = Dialect{}
	_ dialect.References       = Dialect{}
	_ dialect.Roots            = Dialect{}
	_ dialect.Refusals         = Dialect{}
	_ dialect.Keeping          = Dialect{}

	_ dialect.OtherControllers = Dialect{}
	_ dialect.OptionalKinds    = Dialect{}
)

// Name is the name of the folder.
func (Dialect) Name() string { return "osm" }

// Title is the display name.
func (Dialect) Title() string { return "Open Service Mesh" }

// AddToScheme adds the kinds of the groups to a scheme.
func (Dialect) AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		access.AddToScheme, specs.AddToScheme, split.AddToScheme, config.AddToScheme, policy.AddToScheme,
		unserved.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// Definitions returns the CustomResourceDefinitions of the groups.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, group := range []string{
		access.GroupVersion.Group, specs.GroupVersion.Group, split.GroupVersion.Group, config.GroupVersion.Group,
		policy.GroupVersion.Group,
	} {
		of, err := crds.OfGroup(group)
		if err != nil {
			return nil, err
		}
		out = append(out, of...)
	}
	return out, nil
}

// Kinds returns an empty object of each kind that the rules read.
func (d Dialect) Kinds() []client.Object {
	return append([]client.Object{
		&corev1.Namespace{}, &corev1.ServiceAccount{}, &corev1.Service{}, &corev1.Pod{}, &config.MeshConfig{},
		&config.MeshRootCertificate{},
		&access.TrafficTarget{}, &specs.HTTPRouteGroup{}, &specs.TCPRoute{}, &split.TrafficSplit{},
		&discoveryv1.EndpointSlice{}, &policy.Egress{}, &policy.IngressBackend{}, &policy.UpstreamTrafficSetting{},
		&policy.AccessControl{}, &policy.AccessCert{}, &policy.EgressGateway{}, &policy.Retry{},
	}, d.OptionalKinds()...)
}

// values are the settings of the mesh in the chart value of the dialect, which has those of sidecars, too.
type values struct {
	MeshName string `json:"meshName"`
}

// Values returns the default settings.
func (Dialect) Values() any { return values{defaultMesh} }

// Configure returns the dialect with the trust domain, the name of the mesh and the sidecar drivers.
func (d Dialect) Configure(s dialect.Settings) (dialect.Dialect, error) {
	v := values{defaultMesh}
	if text := s.Values[d.Name()]; len(text) > 0 {
		if err := json.Unmarshal(text, &v); err != nil {
			return nil, err
		}
	}
	return Dialect{TrustDomain: s.TrustDomain, MeshName: v.MeshName, SidecarClasses: s.SidecarClasses}, nil
}

func (d Dialect) meshName() string { return cmp.Or(d.MeshName, defaultMesh) }

func (d Dialect) trustDomain() string {
	if d.TrustDomain == "" {
		return dialect.DefaultTrustDomain
	}
	return d.TrustDomain
}

// sorted returns the entries without duplicates, in order.
func sorted(all []string) []string {
	out := slices.Sorted(slices.Values(all))
	return slices.Compact(out)
}
