package appmesh

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

const (
	// sharedLists is the number of lists of backends that are kept for VirtualNodes that have the same list.
	sharedLists = 64
	// minShared is the length of the shortest list that is shared.
	minShared = 16
)

// Transforms returns the transforms of cached objects. VirtualNodes with equal lists of backends share one: in a mesh
// where every workload reaches every service, the lists are most of the memory of all objects.
func (Dialect) Transforms() map[client.Object]cache.TransformFunc {
	lists := lru.New(sharedLists)
	return map[client.Object]cache.TransformFunc{&api.VirtualNode{}: func(object any) (any, error) {
		node, ok := object.(*api.VirtualNode)
		if !ok || len(node.Spec.Backends) < minShared {
			return object, nil
		}
		key := (&backendList{backends: node.Spec.Backends}).key()
		if known, ok := lists.Get(key); ok {
			node.Spec.Backends = known.([]api.Backend)
			return node, nil
		}
		lists.Add(key, node.Spec.Backends)
		return node, nil
	}}
}
