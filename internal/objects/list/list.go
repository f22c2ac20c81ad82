// Package list lists the objects of a kind that is known only at run time.
//
// In: an empty object of the kind. Out: the objects of that kind from an API server or a cache.
package list

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Objects lists the objects of a kind. The scheme of the client must contain the kind and its list. If
// meta.IsNoMatchError is true for the error, the cluster does not serve the kind.
func Objects(ctx context.Context, c client.Client, kind client.Object,
	options ...client.ListOption) ([]client.Object, error) {
	gvk, err := apiutil.GVKForObject(kind, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("kind of %T: %w", kind, err)
	}
	gvk.Kind += "List"
	made, err := c.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("list of %T: %w", kind, err)
	}
	objects := made.(client.ObjectList)
	if err := c.List(ctx, objects, options...); err != nil {
		return nil, fmt.Errorf("listing objects of %s: %w", gvk.GroupKind(), err)
	}
	items, err := meta.ExtractList(objects)
	if err != nil {
		return nil, fmt.Errorf("items of %s: %w", gvk.GroupKind(), err)
	}
	out := make([]client.Object, 0, len(items))
	for _, item := range items {
		out = append(out, item.(client.Object))
	}
	return out, nil
}
