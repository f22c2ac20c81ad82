package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// absentFor is how long a kind that is not a custom resource is assumed to be absent.
const absentFor = time.Minute

var crdResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// mapping is the resource of a kind.
type mapping struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// kinds knows the kinds of the cluster. It is safe for concurrent use.
type kinds struct {
	mapper meta.RESTMapper // for kinds that are not custom resources
	log    *slog.Logger
	// changed is called for each kind that appeared or disappeared.
	changed func(schema.GroupVersionKind)

	mu     sync.Mutex
	synced bool
	custom map[string]map[schema.GroupVersionKind]mapping // by name of the CRD
	served map[schema.GroupVersionKind]mapping            // of all CRDs
	// groups had a CRD once: other kinds of them do not exist.
	groups map[string]bool
	others map[schema.GroupVersionKind]builtin
}

// builtin is a kind that is not a custom resource.
type builtin struct {
	mapping *mapping // nil if the cluster does not have it
	until   time.Time
}

// discoveryTimeout is the time that the API server has to say which kinds it serves. Discovery does not end with a
// context.
const discoveryTimeout = 10 * time.Second

// newMapper returns what finds the resources of the kinds of a cluster.
func newMapper(config *rest.Config, requests http.Client) (meta.RESTMapper, error) {
	requests.Timeout = discoveryTimeout
	mapper, err := apiutil.NewDynamicRESTMapper(config, &requests)
	if err != nil {
		return nil, fmt.Errorf("kinds of the cluster: %w", err)
	}
	return mapper, nil
}

func newKinds(mapper meta.RESTMapper, log *slog.Logger, changed func(schema.GroupVersionKind)) *kinds {
	return &kinds{
		mapper: mapper, log: log, changed: changed, custom: map[string]map[schema.GroupVersionKind]mapping{},
		served: map[schema.GroupVersionKind]mapping{}, groups: map[string]bool{},
		others: map[schema.GroupVersionKind]builtin{},
	}
}

// run watches CustomResourceDefinitions until the context ends.
func (k *kinds) run(ctx context.Context, client dynamic.Interface, resync func()) error {
	informer := newInformer(client.Resource(crdResource), cache.Indexers{})
	if err := informer.SetTransform(trimDefinition); err != nil {
		return fmt.Errorf("informer of CustomResourceDefinitions: %w", err)
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.set(o, false) },
		UpdateFunc: func(_, o any) { k.set(o, false) },
		DeleteFunc: func(o any) { k.set(deleted(o), true) },
	})
	if err != nil {
		return fmt.Errorf("informer of CustomResourceDefinitions: %w", err)
	}
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
			k.mu.Lock()
			k.synced = true
			k.mu.Unlock()
			resync()
		}
	}()
	informer.RunWithContext(ctx)
	return nil
}

// trimDefinition keeps what kinds needs: schemas are large.
func trimDefinition(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &crd); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", u.GetName(), err)
	}
	established := false
	for _, c := range crd.Status.Conditions {
		established = established || c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	}
	served := map[string]any{}
	for _, v := range crd.Spec.Versions {
		if v.Served && established {
			served[v.Name] = true
		}
	}
	out := &unstructured.Unstructured{Object: map[string]any{
		"group": crd.Spec.Group, "kind": crd.Spec.Names.Kind, "plural": crd.Spec.Names.Plural,
		"namespaced": crd.Spec.Scope == apiextensionsv1.NamespaceScoped, "served": served,
	}}
	out.SetName(crd.Name)
	out.SetResourceVersion(crd.ResourceVersion)
	return out, nil
}

// set records the kinds of a CRD, and reports those that changed.
func (k *kinds) set(o any, isDeleted bool) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return
	}
	now := map[schema.GroupVersionKind]mapping{}
	if served, _ := u.Object["served"].(map[string]any); !isDeleted {
		text := func(field string) string { s, _ := u.Object[field].(string); return s }
		namespaced, _ := u.Object["namespaced"].(bool)
		for version := range served {
			v := schema.GroupVersion{Group: text("group"), Version: version}
			now[v.WithKind(text("kind"))] = mapping{v.WithResource(text("plural")), namespaced}
		}
	}
	k.mu.Lock()
	before := k.custom[u.GetName()]
	k.custom[u.GetName()] = now
	if len(now) == 0 {
		delete(k.custom, u.GetName())
	}
	for kind := range before {
		delete(k.served, kind)
	}
	for kind, m := range now {
		k.served[kind], k.groups[kind.Group] = m, true
	}
	clear(k.others) // a kind may have been looked up before its CRD was seen
	synced := k.synced
	k.mu.Unlock()
	if maps.Equal(before, now) || !synced {
		return
	}
	all := maps.Clone(now)
	maps.Copy(all, before)
	for kind := range all {
		if before[kind] != now[kind] {
			k.changed(kind)
		}
	}
}

// get returns the resource of a kind, or nil if the cluster does not have the kind. An error means that this is not
// known yet.
func (k *kinds) get(kind schema.GroupVersionKind) (*mapping, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.synced {
		return nil, errNotSynced
	}
	if m, ok := k.served[kind]; ok {
		return &m, nil
	}
	if k.groups[kind.Group] {
		return nil, nil
	}
	if b, ok := k.others[kind]; ok && (b.mapping != nil || time.Now().Before(b.until)) {
		return b.mapping, nil
	}
	found, err := k.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		k.others[kind] = builtin{until: time.Now().Add(absentFor)}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("kind %s: %w", kind, err)
	}
	m := &mapping{found.Resource, found.Scope.Name() == meta.RESTScopeNameNamespace}
	k.others[kind] = builtin{mapping: m}
	return m, nil
}
