package cache

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Watches share the text of an event, and get the same text when it is no longer kept.
func TestTextOfAnEventIsSharedWhileItIsRecent(t *testing.T) {
	c := newKindCache(Kind{
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Kind: "Node", ListKind: "NodeList",
	}, Options{}.WithDefaults(), nil)
	owner := &cluster{name: "c"}
	m := &memberState{cluster: owner}
	s := &source{kind: c, cluster: owner}
	m.source, c.members["c"] = s, m
	put := func(version int) {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"n","uid":"u","resourceVersion":"%d"}}`, version)
		o, err := ingest(c.info, owner, newInterner(), raw)
		if err == nil {
			err = c.event(s, o, false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(1)
	put(2)
	var events []Event
	for range 2 {
		w := &Watch{kind: c, selector: &selector{kind: c.info}}
		e, ok := w.translate(c.window.entries[1].changes[0])
		if !ok || e.Type != watch.Modified {
			t.Fatalf("%+v", e)
		}
		events = append(events, e)
	}
	first, ok := events[0].SharedJSON()
	second, _ := events[1].SharedJSON()
	if !ok || &first[0] != &second[0] || string(first) != string(events[0].AppendJSON(nil)) {
		t.Errorf("%s and %s are not the same text", first, second)
	}
	for i := range sharedEntries {
		put(3 + i)
	}
	if text, ok := events[0].SharedJSON(); ok {
		t.Errorf("the text of an old entry is kept: %s", text)
	}
	if events[0].lines.modified.Load() != nil {
		t.Error("the memory is not free")
	}
}
