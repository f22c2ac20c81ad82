package controller

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestIndexFindsReaders(t *testing.T) {
	x := newIndex()
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	for what, r := range map[string]read{
		"all":       {kind, allObjects, "", ""},
		"namespace": {kind, allObjects, "ns", ""},
		"name":      {kind, oneObject, "ns", "web"},
		"owner":     {kind, ownedBy, "ns", "uid-1"},
		"selector":  {kind, selectedBy, "ns", selector.String()},
		"exists":    {kind, kindExists, "", ""},
		"informed":  {kind, informed, "", ""},
	} {
		x.add(ObjectKey{Name: what}, 1, r, selector)
	}
	for text, want := range map[string][]string{
		"metadata: {namespace: ns, name: other}":                                                                {"all", "namespace"},
		"metadata: {namespace: elsewhere, name: web, labels: {app: web}}":                                       {"all"},
		"metadata: {namespace: ns, name: web}":                                                                  {"all", "name", "namespace"},
		"metadata: {namespace: ns, name: x, labels: {app: web, y: z}}":                                          {"all", "namespace", "selector"},
		"metadata: {namespace: ns, name: x, ownerReferences: [{uid: uid-1, kind: A, name: a, apiVersion: v1}]}": {"all", "namespace", "owner"},
	} {
		var got []string
		for k := range x.readersOf(kind, nil, object(t, text)) {
			got = append(got, k.Name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	before := object(t, "metadata: {namespace: ns, name: x, labels: {app: web}}")
	if after := object(t, "metadata: {namespace: ns, name: x}"); !x.readersOf(kind, before, after)[ObjectKey{Name: "selector"}] {
		t.Error("an object that left a selector is not a change")
	}
}

// After any sequence of evaluations, the index has what the last evaluation of each owner read, and nothing else.
func TestIndexHasLastReadsOnly(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	x := newIndex()
	last := map[ObjectKey]map[read]bool{}
	for evaluation := 1; evaluation < 2000; evaluation++ {
		owner := ObjectKey{Name: fmt.Sprint(random.IntN(5))}
		reads := map[read]bool{}
		for range random.IntN(6) {
			r := read{schema.GroupVersionKind{Kind: fmt.Sprint(random.IntN(3))}, aspect(random.IntN(int(aspectCount))), "ns", fmt.Sprint(random.IntN(2))}
			reads[r] = true
			x.add(owner, evaluation, r, labels.Everything())
		}
		unused := x.keep(owner, evaluation)
		last[owner] = reads
		users := map[schema.GroupVersionKind]bool{}
		count := 0
		for o, reads := range last {
			for r := range reads {
				count++
				users[r.kind] = users[r.kind] || r.aspect != kindExists
				if !x.readers[r][o] {
					t.Fatalf("%v is not a reader of %v", o, r)
				}
			}
		}
		for _, reads := range x.readers {
			count -= len(reads)
		}
		if count != 0 {
			t.Fatalf("the index has %d reads too many", -count)
		}
		for kind, isUsed := range users {
			if x.isUsed(kind) != isUsed || isUsed && slices.Contains(unused, kind) {
				t.Fatalf("kind %v: used is %t, want %t; unused are %v", kind, x.isUsed(kind), isUsed, unused)
			}
		}
	}
	for owner := range last {
		x.keep(owner, 0)
	}
	if len(x.readers)+len(x.reads)+len(x.users)+len(x.selectors) > 0 {
		t.Errorf("the index is not empty: %v", slices.Collect(maps.Keys(x.readers)))
	}
}
