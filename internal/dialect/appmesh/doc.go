// Package appmesh is the dialect of API group appmesh.k8s.aws.
//
// In: objects of the group, and the Namespaces and Pods that their selectors match. Out: rules that derive model
// items and findings (Rules, Translate), the workload of a pod (OwnerOf, SelectWorkload), admission (Default,
// Validate) and the desired status of each object (Status). All functions are pure: no I/O and no state. They do not
// change their arguments, and the order of the objects is not significant.
package appmesh

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/api/crds"
	"anymesh.dev/anymesh/internal/dialect"
)

// Settings are the operator's settings. The zero value is the behavior of the released controller.
type Settings struct {
	// TrustDomain is the trust domain of the pods' identities. The default is dialect.DefaultTrustDomain.
	TrustDomain string
	// NoDefaultRetry disables the default retries of routes without a retry policy.
	NoDefaultRetry bool
	// NoAWSEgress blocks TLS connections to *.amazonaws.com if the egress filter is DROP_ALL.
	NoAWSEgress bool
}

func (s Settings) trustDomain() string {
	if s.TrustDomain == "" {
		return dialect.DefaultTrustDomain
	}
	return s.TrustDomain
}

// Dialect is the dialect with its settings.
type Dialect struct{ Settings }

// Name is the name of the folder.
func (Dialect) Name() string { return "appmesh" }

// Title is the display name.
func (Dialect) Title() string { return "App Mesh" }

// AddToScheme adds the kinds of the group to a scheme.
func (Dialect) AddToScheme(scheme *runtime.Scheme) error { return api.AddToScheme(scheme) }

// Definitions returns the CustomResourceDefinitions of the group.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return crds.OfGroup(api.GroupVersion.Group)
}

// Kinds returns an empty object of each kind that Translate reads. Translate ignores other kinds.
func (Dialect) Kinds() []client.Object {
	return []client.Object{
		&corev1.Namespace{}, &corev1.Pod{}, &corev1.Service{}, &api.Mesh{}, &api.VirtualNode{}, &api.VirtualService{},
		&api.VirtualRouter{},
		&api.VirtualGateway{}, &api.GatewayRoute{}, &api.BackendGroup{},
	}
}

// ShortNames returns the kinds by their short names.
func (Dialect) ShortNames() map[string]string {
	return map[string]string{
		"vn": api.KindVirtualNode, "vs": api.KindVirtualService, "vr": api.KindVirtualRouter,
		"vg": api.KindVirtualGateway,
		"gr": api.KindGatewayRoute, "bg": api.KindBackendGroup,
	}
}

// values are the settings in the format of the chart value.
type values struct {
	DefaultRetry bool `json:"defaultRetry"`
	AWSEgress    bool `json:"awsEgress"`
}

// Values returns the default settings in the format of the chart value.
func (Dialect) Values() any { return values{DefaultRetry: true, AWSEgress: true} }

// Configure returns the dialect with settings in the format of the chart value.
func (d Dialect) Configure(trustDomain string, raw json.RawMessage) (dialect.Dialect, error) {
	v := d.Values().(values)
	if err := dialect.Decode(raw, &v); err != nil {
		return nil, err
	}
	return Dialect{Settings{TrustDomain: trustDomain, NoDefaultRetry: !v.DefaultRetry, NoAWSEgress: !v.AWSEgress}}, nil
}
