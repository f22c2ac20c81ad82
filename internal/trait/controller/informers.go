package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// errNotSynced means that an informer does not have all objects yet.
var errNotSynced = errors.New("the objects are not known yet")

// forbiddenFor is how long a kind that must not be read is not tried again.
const forbiddenFor = time.Minute

// Names of the indexes of informers.
const (
	byNamespace = "namespace"
	byOwner     = "owner"
)

// informers are the informers of the kinds that plans read. They are safe for concurrent use.
type informers struct {
	ctx    context.Context // of all informers
	client dynamic.Interface
	log    *slog.Logger
	// changed is called for each change of an object, synced when all objects of a kind are known, and when a kind
	// becomes forbidden or allowed.
	changed func(kind schema.GroupVersionKind, before, after *unstructured.Unstructured)
	synced  func(schema.GroupVersionKind)

	gauge   prometheus.Gauge // the number of running informers
	mu      sync.Mutex
	running map[schema.GroupVersionKind]*informer
	done    sync.WaitGroup
}

// informer is the informer of a kind.
type informer struct {
	cache.SharedIndexInformer
	mapping   mapping
	stop      context.CancelFunc
	hasSynced func() bool
	forbidden bool // guarded by informers.mu
}

// get returns the informer of a kind, and starts it if necessary. The error is errNotSynced until the informer has all
// objects, and a forbiddenError while it must not read them.
func (i *informers) get(kind schema.GroupVersionKind, m mapping) (*informer, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	one := i.running[kind]
	if one != nil && one.mapping != m {
		one.stop()
		one = nil
	}
	if one == nil {
		var err error
		if one, err = i.start(kind, m); err != nil {
			return nil, err
		}
		i.running[kind] = one
		i.gauge.Set(float64(len(i.running)))
	}
	switch {
	case one.forbidden:
		return nil, forbiddenError{m.resource, "get, list, watch"}
	case !one.hasSynced():
		return nil, errNotSynced
	}
	return one, nil
}

// start starts the informer of a kind. The caller holds the lock.
func (i *informers) start(kind schema.GroupVersionKind, m mapping) (*informer, error) {
	ctx, stop := context.WithCancel(i.ctx)
	one := &informer{mapping: m, stop: stop}
	one.SharedIndexInformer = newInformer(i.client.Resource(m.resource), cache.Indexers{
		byNamespace: cache.MetaNamespaceIndexFunc, byOwner: ownersOf,
	})
	handler, err := one.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { i.notify(kind, nil, o) },
		UpdateFunc: func(before, after any) {
			i.notify(kind, before, after)
		},
		DeleteFunc: func(o any) { i.notify(kind, deleted(o), nil) },
	})
	if err == nil {
		err = one.SetTransform(trim)
	}
	if err == nil {
		err = one.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			if apierrors.IsForbidden(err) {
				i.forbid(kind, one)
				return
			}
			cache.DefaultWatchErrorHandler(ctx, r, err)
		})
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("informer of %s: %w", m.resource, err)
	}
	one.hasSynced = handler.HasSynced
	i.done.Go(func() { one.RunWithContext(ctx) })
	i.done.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
			i.synced(kind)
		}
	})
	return one, nil
}

// forbid stops an informer that must not read its kind, and forgets it after forbiddenFor, so that it starts again if a
// plan still needs it.
func (i *informers) forbid(kind schema.GroupVersionKind, one *informer) {
	i.mu.Lock()
	first := !one.forbidden
	one.forbidden = true
	i.mu.Unlock()
	if !first {
		return
	}
	one.stop()
	i.log.Warn("objects must not be read", "kind", kind.String(), "retry", forbiddenFor)
	i.synced(kind)
	i.done.Go(func() {
		timer := time.NewTimer(forbiddenFor)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-i.ctx.Done():
			return
		}
		i.mu.Lock()
		if i.running[kind] == one {
			delete(i.running, kind)
			i.gauge.Set(float64(len(i.running)))
		}
		i.mu.Unlock()
		i.synced(kind)
	})
}

// stopUnused stops the informers of kinds that nothing uses.
func (i *informers) stopUnused(unused []schema.GroupVersionKind, isUsed func(schema.GroupVersionKind) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, kind := range unused {
		if one := i.running[kind]; one != nil && !one.forbidden && !isUsed(kind) {
			one.stop()
			delete(i.running, kind)
			i.gauge.Set(float64(len(i.running)))
		}
	}
}

func (i *informers) notify(kind schema.GroupVersionKind, before, after any) {
	b, _ := before.(*unstructured.Unstructured)
	a, _ := after.(*unstructured.Unstructured)
	i.changed(kind, b, a)
}

// newInformer returns an informer of a resource in all namespaces. It begins with a list: client-go scans each JSON
// event of a stream several times.
func newInformer(client dynamic.NamespaceableResourceInterface, indexers cache.Indexers) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(listFirst{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, o)
		},
	}}, &unstructured.Unstructured{}, 0, indexers)
}

// listFirst is a source whose informers begin with a list.
type listFirst struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported has the name that client-go asks for.
func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

// deleted returns the object of a deletion.
func deleted(o any) any {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return o
}

// ownersOf indexes an object by its owners.
func ownersOf(o any) ([]string, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	var out []string
	for _, owner := range u.GetOwnerReferences() {
		out = append(out, u.GetNamespace()+"/"+string(owner.UID))
	}
	return out, nil
}

// forbiddenError says that the control plane must not do something with a resource.
type forbiddenError struct {
	resource schema.GroupVersionResource
	verbs    string
}

// Error says which rule to add.
func (e forbiddenError) Error() string {
	return fmt.Sprintf("the control plane must not %s the resource %s of group %q; create a ClusterRole with the label "+
		`%s: "true" and the rule {apiGroups: [%q], resources: [%q], verbs: [%s]}`, e.verbs, e.resource.Resource,
		e.resource.Group, aggregationLabel, e.resource.Group, e.resource.Resource, e.verbs)
}

// aggregationLabel on a ClusterRole adds its rules to those of the control plane.
const aggregationLabel = "anymesh.dev/aggregate-to-route-trait"
