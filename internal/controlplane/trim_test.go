package controlplane

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	appmesh "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// node returns a VirtualNode whose strings share no memory with those of another one.
func node(change func(*appmesh.VirtualNode)) *appmesh.VirtualNode {
	n := &appmesh.VirtualNode{
		TypeMeta: metav1.TypeMeta{APIVersion: strings.Clone("appmesh.k8s.aws/v1beta2"), Kind: strings.Clone("VirtualNode")},
		ObjectMeta: metav1.ObjectMeta{
			Name: strings.Clone("a"), Namespace: strings.Clone("ns"), UID: "uid", Generation: 1, ResourceVersion: "1",
			Labels: map[string]string{"k": "v"}, Annotations: map[string]string{"k": "v"}, Finalizers: []string{"f"},
		},
		Spec: appmesh.VirtualNodeSpec{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
	}
	change(n)
	return n
}

func TestTrimMetadata(t *testing.T) {
	trimmed := func(change func(*appmesh.VirtualNode)) *appmesh.VirtualNode {
		out, err := trimMetadata(node(change))
		if err != nil {
			t.Fatal(err)
		}
		return out.(*appmesh.VirtualNode)
	}
	unchanged := func(*appmesh.VirtualNode) {}
	plain := trimmed(unchanged)
	if !reflect.DeepEqual(plain, node(unchanged)) {
		t.Errorf("an object without superfluous metadata changed: %+v", plain)
	}
	full := trimmed(func(n *appmesh.VirtualNode) {
		n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		n.Annotations[lastApplied] = "{}"
	})
	if !reflect.DeepEqual(full, plain) {
		t.Errorf("got %+v, want no managedFields and no copy of the object", full)
	}
	if only := trimmed(func(n *appmesh.VirtualNode) {
		n.Annotations = map[string]string{lastApplied: "{}"}
	}); only.Annotations != nil {
		t.Errorf("got annotations %v, want nil", only.Annotations)
	}
	for _, s := range [][2]string{
		{plain.Namespace, full.Namespace}, {plain.Kind, full.Kind}, {plain.APIVersion, full.APIVersion},
	} {
		if unsafe.StringData(s[0]) != unsafe.StringData(s[1]) {
			t.Errorf("two objects have a copy of %q each", s[0])
		}
	}
}

// Versions of an object that differ in the status share the spec and the metadata.
func TestVersionsShareWhatIsUnchanged(t *testing.T) {
	events := watch.NewFake()
	informer := newInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &appmesh.VirtualNodeList{}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events, nil },
	}, &appmesh.VirtualNode{}, 0, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	if err := informer.SetTransform(trimMetadata); err != nil {
		t.Fatal(err)
	}
	if indexes := informer.GetIndexer().GetIndexers(); len(indexes) > 0 {
		t.Errorf("got indexes %v, want none", indexes)
	}
	updated := make(chan [2]*appmesh.VirtualNode)
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { updated <- [2]*appmesh.VirtualNode{nil, o.(*appmesh.VirtualNode)} },
		UpdateFunc: func(old, now any) {
			updated <- [2]*appmesh.VirtualNode{old.(*appmesh.VirtualNode), now.(*appmesh.VirtualNode)}
		},
	}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	events.Add(node(func(*appmesh.VirtualNode) {}))
	<-updated
	shared := func(before, now *appmesh.VirtualNode) map[string]bool {
		return map[string]bool{
			"spec":        before.Spec.PodSelector == now.Spec.PodSelector,
			"name":        unsafe.StringData(before.Name) == unsafe.StringData(now.Name),
			"labels":      samePointer(before.Labels, now.Labels),
			"annotations": samePointer(before.Annotations, now.Annotations),
			"finalizers":  samePointer(before.Finalizers, now.Finalizers),
		}
	}
	without := func(parts ...string) map[string]bool {
		out := map[string]bool{}
		for _, part := range []string{"spec", "name", "labels", "annotations", "finalizers"} {
			out[part] = !slices.Contains(parts, part)
		}
		return out
	}
	all, none := without(), without("spec", "name", "labels", "annotations", "finalizers")
	for _, c := range []struct {
		name   string
		change func(*appmesh.VirtualNode)
		want   map[string]bool
	}{
		{"status", func(n *appmesh.VirtualNode) { n.Status.ObservedGeneration = new(int64(1)) }, all},
		{"labels", func(n *appmesh.VirtualNode) { n.Labels["k"] = "w" }, without("labels")},
		{"annotations", func(n *appmesh.VirtualNode) { n.Annotations["l"] = "w" }, without("annotations")},
		{"finalizers", func(n *appmesh.VirtualNode) { n.Finalizers = nil }, without("finalizers")},
		{"spec", func(n *appmesh.VirtualNode) { n.Generation, n.Spec.PodSelector = 2, nil }, without("spec")},
		{"created again", func(n *appmesh.VirtualNode) { n.UID, n.Spec.PodSelector = "other", nil }, none},
	} {
		events.Modify(node(func(*appmesh.VirtualNode) {}))
		known := (<-updated)[1]
		want := node(c.change)
		events.Modify(node(c.change))
		got := <-updated
		if got[0] != known || !reflect.DeepEqual(got[1], want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got[1], want)
		}
		if s := shared(got[0], got[1]); !reflect.DeepEqual(s, c.want) {
			t.Errorf("%s: shared are %v, want %v", c.name, s, c.want)
		}
	}
}

func samePointer(a, b any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
