package controlplane

import (
	"context"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/engine"
)

// optionalKindsInterval is the time between two looks for a kind that the cluster does not have.
const optionalKindsInterval = 10 * time.Second

// served reports whether the cluster has a kind.
func (cp *controlPlane) served(kind client.Object) (bool, error) {
	gvk, err := apiutil.GVKForObject(kind, cp.client.Scheme())
	if err != nil {
		return false, err
	}
	_, err = cp.client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// watchLater watches kinds as soon as the cluster has them.
func (cp *controlPlane) watchLater(ctx context.Context, kinds []client.Object) {
	ticker := time.NewTicker(optionalKindsInterval)
	defer ticker.Stop()
	for len(kinds) > 0 {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		kinds = slices.DeleteFunc(kinds, func(kind client.Object) bool {
			has, err := cp.served(kind)
			if err == nil && has {
				err = engine.Watch(ctx, cp.engine, cp.cache, cp.client.Scheme(), kind)
			}
			if err != nil {
				cp.Log.Warn("an optional kind is not watched; retrying", "kind", reflect.TypeOf(kind).Elem().Name(), "error", err)
			}
			return err == nil && has
		})
	}
}
