// Package gatewayapi is the dialect of Gateway API: the gateway of this control plane serves the HTTPRoutes of Gateways
// of its GatewayClass.
//
// In: GatewayClasses, Gateways, ListenerSets and HTTPRoutes, and the Services and Namespaces that they name. Out: paths
// of hosts for package gateway, and what the status of each object says: its listeners, or its parents. All functions
// are pure. The dialect reads nothing unless the settings of the gateway enable it.
package gatewayapi

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// Dialect is the dialect with its settings.
type Dialect struct{ Settings }

// What the dialect is besides a dialect.
var (
	_ dialect.Configurable  = Dialect{}
	_ dialect.Statuses      = Dialect{}
	_ dialect.OptionalKinds = Dialect{}
	_ dialect.Installed     = Dialect{}
)

// Settings are the settings of the dialect.
type Settings struct {
	Gateway gateway.Settings
	// Enabled reads the kinds of Gateway API.
	Enabled bool
}

// Name is the name of the folder.
func (Dialect) Name() string { return "gatewayapi" }

// Title is the display name.
func (Dialect) Title() string { return "Gateway API" }

// AddToScheme adds the kinds of Gateway API.
func (Dialect) AddToScheme(s *runtime.Scheme) error { return gatewayv1.Install(s) }

// Definitions returns none: others install the kinds of Gateway API.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) { return nil, nil }

// Kinds returns an empty object of each kind that the rules read. A dialect that is not enabled reads none.
func (d Dialect) Kinds() []client.Object {
	if !d.Enabled {
		return nil
	}
	return append(gateway.Kinds(), d.OptionalKinds()...)
}

// OptionalKinds returns the kinds of Gateway API, which the cluster may not have.
func (d Dialect) OptionalKinds() []client.Object {
	if !d.Enabled {
		return nil
	}
	return []client.Object{
		&gatewayv1.GatewayClass{}, &gatewayv1.Gateway{}, &gatewayv1.ListenerSet{}, &gatewayv1.HTTPRoute{},
	}
}

// values are the settings of the gateway, which another dialect has, as far as this one needs them.
type values struct {
	Enabled     bool   `json:"enabled"`
	Namespace   string `json:"namespace"`
	TrustedHops uint32 `json:"trustedHops"`
	GatewayAPI  struct {
		Enabled bool `json:"enabled"`
	} `json:"gatewayAPI"`
}

// Values returns nil: the settings are in the chart value of the gateway.
func (Dialect) Values() any { return nil }

// Configure returns the dialect with the settings of the gateway.
func (Dialect) Configure(s dialect.Settings) (dialect.Dialect, error) {
	v := values{Namespace: gateway.DefaultNamespace}
	if raw, has := s.Values[gateway.Value]; has {
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
	}
	return Dialect{Settings{
		gateway.Settings{TrustDomain: s.TrustDomain, Namespace: v.Namespace, TrustedHops: v.TrustedHops},
		v.Enabled && v.GatewayAPI.Enabled,
	}}, nil
}

func originOf(kind string, o metav1.Object) model.Origin {
	return model.NewOrigin(model.ObjectRef{
		Group: gatewayv1.GroupName, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(),
	}).CreatedAt(store.CreatedAt(o))
}
