package appmesh

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// backendList is the list of backends and of groups of the VirtualNodes of a namespace and mesh that have the same. It
// is resolved once for all of them.
type backendList struct {
	mesh, namespace string
	backends        []api.Backend
	groups          []api.BackendGroupReference
}

// backendsKey is a hash of a backendList.
type backendsKey [sha256.Size]byte

func (l *backendList) key() backendsKey {
	const size = 48 // of the text of one backend, about
	text := make([]byte, 0, size*len(l.backends))
	add := func(s string) { text = append(binary.AppendUvarint(text, uint64(len(s))), s...) }
	add(l.mesh)
	add(l.namespace)
	for _, b := range l.backends {
		vs := b.VirtualService
		ref := &api.VirtualServiceReference{}
		if vs.VirtualServiceRef != nil {
			ref = vs.VirtualServiceRef
		}
		text = append(text, '0')
		if vs.VirtualServiceRef != nil {
			text = append(text, 'r')
		}
		add(deref(ref.Namespace))
		add(ref.Name)
		if vs.VirtualServiceARN != nil {
			text = append(text, 'a')
		}
		add(deref(vs.VirtualServiceARN))
		if vs.ClientPolicy != nil {
			add(model.Hash(vs.ClientPolicy))
		}
	}
	for _, ref := range l.groups {
		text = append(text, 'g')
		add(deref(ref.Namespace))
		add(ref.Name)
	}
	return sha256.Sum256(text)
}

// resolvedBackends are the resolved backends of a backendList, and the errors in it.
type resolvedBackends struct {
	// backends are sorted by name. Their origins are of the VirtualNode.
	backends []model.Backend
	groups   []model.GroupReference
	faults   []fault
}

// nodeWorkload is the workload of a VirtualNode with backends, without them.
type nodeWorkload struct {
	model.Workload
	backends backendsKey
}

// addBackends adds the rules that resolve lists of backends, and add them to the workloads of VirtualNodes.
func (r *rules) addBackends(g *incremental.Graph) {
	rule := incremental.NewRule(g, "backends")
	incremental.Each(rule, r.backendLists, backendsRule{
		r.settings, r.services.resolver(rule), incremental.Reads(rule, r.groups), incremental.Emits(rule, r.backends),
	}, backendsRule.evaluate)
	rule = incremental.NewRule(g, "workload with backends")
	incremental.Each(rule, r.nodeWorkloads, workloadRule{
		r.translator(rule), incremental.Reads(rule, r.backends), r.out.EmitsWorkloads(rule),
	}, workloadRule.evaluate)
}

func newBackendLists(g *incremental.Graph) *incremental.Relation[backendsKey, *backendList] {
	return incremental.NewRelation[backendsKey](g, "backend lists", func(_, _ *backendList) int { return 0 },
		func(_, _ *backendList) bool { return true }) // the key is a hash of the list
}

func newBackends(g *incremental.Graph) *incremental.Relation[backendsKey, *resolvedBackends] {
	return incremental.NewRelation[backendsKey](g, "backends", func(_, _ *resolvedBackends) int { return 0 },
		func(a, b *resolvedBackends) bool { return reflect.DeepEqual(a, b) })
}

func newNodeWorkloads(g *incremental.Graph) *incremental.Relation[model.Key, nodeWorkload] {
	return incremental.NewRelation[model.Key](g, "workloads of VirtualNodes", func(_, _ nodeWorkload) int { return 0 },
		func(a, b nodeWorkload) bool { return reflect.DeepEqual(a, b) })
}

// workloadRule adds the workload of a VirtualNode with its backends.
type workloadRule struct {
	translator
	backends  *incremental.Reader[backendsKey, *resolvedBackends]
	workloads store.Output[model.Key, model.Workload]
}

func (t workloadRule) evaluate(_ model.Key, all []nodeWorkload) {
	w := all[0].Workload
	if resolved, ok := t.backends.ReadFirst(all[0].backends); ok {
		w.Backends, w.ServiceGroups = resolved.backends, resolved.groups
		for _, f := range resolved.faults {
			t.reportFault(w.Origin, f)
		}
	}
	t.workloads.Emit(w)
}

// backendsRule resolves lists of backends.
type backendsRule struct {
	settings Settings
	services resolver
	groups   *incremental.Reader[types.NamespacedName, *nameClaim]
	resolved *incremental.Emitter[backendsKey, *resolvedBackends]
}

// evaluate resolves a list. Two references to one service are one backend.
func (t backendsRule) evaluate(key backendsKey, all []*backendList) {
	list := all[0]
	size := len(list.backends)
	out := &resolvedBackends{backends: make([]model.Backend, 0, size)}
	indexes, added := make(map[types.NamespacedName]int, size), make(map[string]struct{}, size)
	for i, b := range list.backends {
		path := backendPath(i)
		if key := backendKey(list.namespace, b); key.Name != "" {
			if first, duplicate := indexes[key]; duplicate {
				text := fmt.Sprintf("spec.backends[%d] has the same VirtualService", first)
				out.faults = append(out.faults, fault{path: path, code: model.CodeInvalidField, text: text})
				continue
			}
			indexes[key] = i
		}
		vs := b.VirtualService
		at := model.NewOrigin(model.ObjectRef{Namespace: list.namespace}).At(path)
		r := serviceReference(at, vs.VirtualServiceRef, vs.VirtualServiceARN)
		target, f := t.services.find(list.mesh, r)
		var name string
		if f != nil {
			out.faults = append(out.faults, *f)
			name = t.services.missing(list.mesh, r)
		} else {
			name = target.key.Name
		}
		if _, again := added[name]; again || name == "" {
			continue
		}
		added[name] = struct{}{}
		sources := certificateSources{t.settings, list.namespace}
		policy, faults := sources.clientPolicy(path+".clientPolicy.tls", vs.ClientPolicy)
		out.faults = append(out.faults, faults...)
		out.backends = append(out.backends, model.Backend{Service: name, Path: path, ClientPolicy: policy})
	}
	groups, faults := t.groupReferences(list)
	out.groups, out.faults = groups, append(out.faults, faults...)
	slices.SortFunc(out.backends, func(a, b model.Backend) int { return cmp.Compare(a.Service, b.Service) })
	if last, ok := t.resolved.Last(key); ok && slices.Equal(last.backends, out.backends) {
		out.backends = last.backends // the same slice: workloads with it are equal without a comparison of each backend
	}
	t.resolved.Emit(key, out)
}

// missing returns the name that the VirtualService of a reference has by default when it is created, so that its
// creation does not change the workloads that refer to it. It returns "" if the VirtualService exists, or another one
// has the name.
func (to *resolver) missing(mesh string, r reference) string {
	if r.arn != nil {
		name, _ := parseARN(*r.arn, r.arnType) // find returns the error
		return name
	}
	if !r.hasName {
		return ""
	}
	id := types.NamespacedName{Namespace: cmp.Or(r.namespace, r.at.Object().Namespace), Name: r.name}
	if _, exists := to.byObject.ReadFirst(id); exists {
		return ""
	}
	name := defaultAWSName(&api.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name}})
	if _, taken := to.byKey.ReadFirst(model.Key{Mesh: mesh, Name: name}); taken {
		return ""
	}
	return name
}

// backendPaths are the paths of the first backends. Lists share them: they are a quarter of the memory of a list.
var backendPaths = func() (paths [1024]string) {
	for i := range paths {
		paths[i] = formatBackendPath(i)
	}
	return paths
}()

func backendPath(i int) string {
	if i < len(backendPaths) {
		return backendPaths[i]
	}
	return formatBackendPath(i)
}

func formatBackendPath(i int) string { return fmt.Sprintf("spec.backends[%d].virtualService", i) }

// backendKey is equal for equal references, with the namespace filled in. The name is an ARN, or "" without a
// reference.
func backendKey(namespace string, b api.Backend) types.NamespacedName {
	switch vs := b.VirtualService; {
	case vs.VirtualServiceARN != nil:
		return types.NamespacedName{Name: *vs.VirtualServiceARN}
	case vs.VirtualServiceRef != nil:
		return types.NamespacedName{
			Namespace: cmp.Or(deref(vs.VirtualServiceRef.Namespace), namespace), Name: vs.VirtualServiceRef.Name,
		}
	}
	return types.NamespacedName{}
}
