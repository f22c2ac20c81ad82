// Package appmesh is the dialect of group appmesh.k8s.aws: what Mesh, VirtualNode, VirtualService and VirtualRouter
// objects mean, and what is wrong with them.
//
// In come objects as the API server has them: those of the group, and the Namespaces and Pods that their selectors
// speak of. Out come the rules by which they mean a part of the model, and findings (Rules, Translate), what a pod is (Designate, Place), the answers of
// admission (Default..., Validate...) and the status that each object should have (Status). All of it is pure: nothing
// is read, written or remembered, no argument is changed, and the order of the objects does not matter.
package appmesh

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// Settings are the choices of whoever runs the control plane. The zero value is the released behaviour.
type Settings struct {
	// TrustDomain of the identities of pods; empty means cluster.local.
	TrustDomain string
	// NoDefaultRetry turns off the retries of routes that state no retry policy.
	NoDefaultRetry bool
	// NoAWSEgress resets TLS connections to *.amazonaws.com too where the egress filter is DROP_ALL.
	NoAWSEgress bool
}

func (s Settings) trustDomain() string {
	if s.TrustDomain == "" {
		return "cluster.local"
	}
	return s.TrustDomain
}

// Dialect is the dialect with its settings.
type Dialect struct{ Settings }

// Name is the name of the folder.
func (Dialect) Name() string { return "appmesh" }

// Kinds gives an empty object of each kind that Translate reads. Objects of other kinds are passed over.
func (Dialect) Kinds() []client.Object {
	return []client.Object{
		&corev1.Namespace{}, &corev1.Pod{}, &api.Mesh{}, &api.VirtualNode{}, &api.VirtualService{}, &api.VirtualRouter{},
		&api.VirtualGateway{}, &api.GatewayRoute{}, &api.BackendGroup{},
	}
}
