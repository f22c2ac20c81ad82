package cache

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A change wakes only the watches whose selector the object matches before or after it.
func TestChangeWakesTheWatchesThatItConcerns(t *testing.T) {
	c := newKindCache(Kind{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", ListKind: "PodList", Namespaced: true,
	}, Options{}.WithDefaults(), nil)
	watchOf := func(s Selection) *Watch {
		selector, err := c.info.newSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		w := &Watch{kind: c, selector: selector, woken: make(chan struct{}, 1)}
		c.watchers.add(w, 0)
		w.behind = false
		return w
	}
	field := func(text string) Selection { return Selection{Fields: fields.ParseSelectorOrDie(text)} }
	label := func(text string) Selection {
		l, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return Selection{Labels: l}
	}
	named := map[string]*Watch{
		"all": watchOf(Selection{}), "namespace a": watchOf(Selection{Namespace: "a"}),
		"namespace b": watchOf(Selection{Namespace: "b"}), "field namespace b": watchOf(field("metadata.namespace=b")),
		"name x": watchOf(field("metadata.name=x")), "name y": watchOf(field("metadata.name=y")),
		"node 1": watchOf(field("spec.nodeName=n1")), "node 2": watchOf(field("spec.nodeName=n2")),
		"node 3": watchOf(field("spec.nodeName=n3")), "not node 1": watchOf(field("spec.nodeName!=n1")),
		"hostNetwork": watchOf(field("spec.hostNetwork=false")), "label app=web": watchOf(label("app=web")),
		"label app=db": watchOf(label("app=db")), "label in": watchOf(label("app in (db, web)")), "label !": watchOf(label("!app")),
	}
	owner := &cluster{name: "c"}
	objectOf := func(version, node string) *object {
		o, err := ingest(c.info, owner, newInterner(), []byte(`{"metadata":{"name":"x","namespace":"a","uid":"u","labels":`+
			`{"app":"web"},"resourceVersion":"`+version+`"},"spec":{"nodeName":"`+node+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	c.wake(&entry{cluster: owner, changes: []change{{old: objectOf("1", "n1"), new: objectOf("2", "n2")}}}, 7)
	concerned := []string{
		"all", "namespace a", "name x", "node 1", "node 2", "not node 1", "hostNetwork", "label app=web", "label in", "label !",
	}
	for name, w := range named {
		if want := slices.Contains(concerned, name); w.behind != want || len(w.woken) > 0 != want || want && w.pending != 7 {
			t.Errorf("%s: behind %t at %d", name, w.behind, w.pending)
		}
	}
	c.wake(&entry{cluster: owner, left: true}, 8)
	for name, w := range named {
		if !w.behind {
			t.Errorf("%s: not woken by the departure of a cluster", name)
		}
		c.watchers.remove(w)
	}
	if len(c.watchers.byKey)+len(c.watchers.fields) > 0 {
		t.Errorf("watches remain: %+v", c.watchers)
	}
}
