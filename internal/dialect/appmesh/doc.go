// Package appmesh is the dialect of group appmesh.k8s.aws: what Mesh, VirtualNode, VirtualService and VirtualRouter
// objects mean, and what is wrong with them.
//
// In: objects as the API server has them: those of the group, and the Namespaces and Pods that their selectors refer
// to. Out: the rules by which they mean a part of the model, and findings (Rules, Translate), the workload of a pod
// (OwnerOf, SelectWorkload), the answers of admission (Default, Validate) and the status that each object should have
// (Status). All of it is pure: nothing is read, written or remembered, no argument is changed, and the order of the
// objects does not matter.
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

// Settings are the choices of the control plane's operator. The zero value is the behavior of the released controller.
type Settings struct {
	// TrustDomain of the identities of pods; empty means dialect.DefaultTrustDomain.
	TrustDomain string
	// NoDefaultRetry turns off the retries of routes that state no retry policy.
	NoDefaultRetry bool
	// NoAWSEgress resets TLS connections to *.amazonaws.com too where the egress filter is DROP_ALL.
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

// Title is the name that users know.
func (Dialect) Title() string { return "App Mesh" }

// AddToScheme adds the kinds of the group to a scheme.
func (Dialect) AddToScheme(scheme *runtime.Scheme) error { return api.AddToScheme(scheme) }

// Definitions gives the CustomResourceDefinitions of the group.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return crds.OfGroup(api.GroupVersion.Group)
}

// Kinds gives an empty object of each kind that Translate reads. Objects of other kinds are passed over.
func (Dialect) Kinds() []client.Object {
	return []client.Object{
		&corev1.Namespace{}, &corev1.Pod{}, &corev1.Service{}, &api.Mesh{}, &api.VirtualNode{}, &api.VirtualService{},
		&api.VirtualRouter{},
		&api.VirtualGateway{}, &api.GatewayRoute{}, &api.BackendGroup{},
	}
}

// ShortNames gives the kinds by the short names that people use.
func (Dialect) ShortNames() map[string]string {
	return map[string]string{
		"vn": api.KindVirtualNode, "vs": api.KindVirtualService, "vr": api.KindVirtualRouter,
		"vg": api.KindVirtualGateway,
		"gr": api.KindGatewayRoute, "bg": api.KindBackendGroup,
	}
}

// values are the settings as the chart has them.
type values struct {
	DefaultRetry bool `json:"defaultRetry"`
	AWSEgress    bool `json:"awsEgress"`
}

// Values gives the default settings, as the chart has them.
func (Dialect) Values() any { return values{DefaultRetry: true, AWSEgress: true} }

// Configure gives the dialect with settings as the chart has them.
func (d Dialect) Configure(trustDomain string, raw json.RawMessage) (dialect.Dialect, error) {
	v := d.Values().(values)
	if err := dialect.Decode(raw, &v); err != nil {
		return nil, err
	}
	return Dialect{Settings{TrustDomain: trustDomain, NoDefaultRetry: !v.DefaultRetry, NoAWSEgress: !v.AWSEgress}}, nil
}
