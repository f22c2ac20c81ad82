package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"anymesh.dev/anymesh/internal/store"
)

// Watch adds event handlers for the given kinds to a started cache, which call Set and Delete of the engine. It returns
// when the engine has all existing objects. An error names the kind; usually its CRD is not installed.
func Watch(ctx context.Context, e *Engine, c cache.Cache, scheme *runtime.Scheme, kinds ...client.Object) error {
	var synced []toolscache.InformerSynced
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			return fmt.Errorf("kind of %T: %w", kind, err)
		}
		informer, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %s: %w", gvk.Kind, err)
		}
		registration, err := informer.AddEventHandler(handler(e))
		if err != nil {
			return fmt.Errorf("watching %s: %w", gvk.Kind, err)
		}
		synced = append(synced, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("initial list of objects is incomplete: %w", context.Cause(ctx))
	}
	return nil
}

func handler(e *Engine) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if o, ok := added.(client.Object); ok {
				e.Set(o)
			}
		},
		UpdateFunc: func(before, after any) {
			o, ok := after.(client.Object)
			if old, known := before.(client.Object); ok && known && !changesMesh(old, o) {
				return
			}
			if ok {
				e.Set(o)
			}
		},
		DeleteFunc: func(deleted any) {
			if unknown, ok := deleted.(toolscache.DeletedFinalStateUnknown); ok {
				deleted = unknown.Obj
			}
			if o, ok := deleted.(client.Object); ok {
				e.Delete(o)
			}
		},
	}
}

// changesMesh reports whether an update can change the mesh or needs finalizers. Status writes and heartbeats do not.
func changesMesh(old, now client.Object) bool {
	if pod, ok := store.Compact(now).(*store.Pod); ok {
		return !pod.Equal(store.Compact(old).(*store.Pod))
	}
	if now.GetGeneration() == 0 { // kinds without metadata.generation
		return old.GetResourceVersion() != now.GetResourceVersion()
	}
	return old.GetGeneration() != now.GetGeneration() || old.GetUID() != now.GetUID() ||
		old.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero() ||
		!slices.Equal(old.GetFinalizers(), now.GetFinalizers()) ||
		!maps.Equal(old.GetLabels(), now.GetLabels()) || !maps.Equal(old.GetAnnotations(), now.GetAnnotations())
}
