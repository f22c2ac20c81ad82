// Package appmesh is the dialect of group appmesh.k8s.aws: what Mesh, VirtualNode, VirtualService and VirtualRouter
// objects mean, and what is wrong with them.
//
// In come objects as the API server has them: those of the group, and the Namespaces and Pods that their selectors
// speak of. Out come a model fragment and findings (Translate), what a pod is (Designate, Place, Instances), the answers of
// admission (Default..., Validate...) and the status that each object should have (Status). All of it is pure: nothing
// is read, written or remembered, no argument is changed, and the order of the objects does not matter.
package appmesh

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
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

// snapshot is the input by kind. Objects that may want the same thing are listed from the oldest to the youngest, since
// the older one keeps it.
type snapshot struct {
	meshes     []*api.Mesh
	nodes      []*api.VirtualNode
	services   []*api.VirtualService
	routers    []*api.VirtualRouter
	gateways   []*api.VirtualGateway
	gwRoutes   []*api.GatewayRoute
	groups     []*api.BackendGroup
	namespaces map[string]*corev1.Namespace
	pods       []*corev1.Pod
}

func newSnapshot(objects []client.Object) snapshot {
	s := snapshot{namespaces: map[string]*corev1.Namespace{}}
	for _, object := range objects {
		if leaving(object) {
			continue
		}
		switch o := object.(type) {
		case *api.Mesh:
			s.meshes = append(s.meshes, o)
		case *api.VirtualNode:
			s.nodes = append(s.nodes, o)
		case *api.VirtualService:
			s.services = append(s.services, o)
		case *api.VirtualRouter:
			s.routers = append(s.routers, o)
		case *api.VirtualGateway:
			s.gateways = append(s.gateways, o)
		case *api.GatewayRoute:
			s.gwRoutes = append(s.gwRoutes, o)
		case *api.BackendGroup:
			s.groups = append(s.groups, o)
		case *corev1.Namespace:
			s.namespaces[o.Name] = o
		case *corev1.Pod:
			s.pods = append(s.pods, o)
		}
	}
	slices.SortFunc(s.meshes, byAge)
	slices.SortFunc(s.nodes, byAge)
	slices.SortFunc(s.services, byAge)
	slices.SortFunc(s.routers, byAge)
	return s
}

// leaving tells whether an object means nothing any more although it is still there, kept by a finalizer. A Mesh goes on until its
// members are gone, and pods and namespaces until they are.
func leaving(o client.Object) bool {
	switch o.(type) {
	case *api.Mesh, *corev1.Pod, *corev1.Namespace:
		return false
	}
	return o.GetDeletionTimestamp() != nil
}

// byAge orders objects from old to young, and by name when they are of one age. The API server keeps whole seconds.
func byAge[T metav1.Object](a, b T) int {
	if c := a.GetCreationTimestamp().Truncate(time.Second).Compare(b.GetCreationTimestamp().Truncate(time.Second)); c != 0 {
		return c
	}
	if c := strings.Compare(a.GetNamespace(), b.GetNamespace()); c != 0 {
		return c
	}
	return strings.Compare(a.GetName(), b.GetName())
}

// namespaceLabels gives the labels of a namespace. Of one that was not handed in, only the label that every namespace
// has is known.
func (s *snapshot) namespaceLabels(name string) map[string]string {
	if ns := s.namespaces[name]; ns != nil {
		return ns.Labels
	}
	return map[string]string{corev1.LabelMetadataName: name}
}

func originOf(kind string, o metav1.Object) model.Origin {
	return model.Origin{Object: model.ObjectRef{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}}
}
