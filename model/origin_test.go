package model

import (
	"encoding/json"
	"testing"
)

// TestOrigin checks that origins are compared by what they say, and have the JSON form of their object and field.
func TestOrigin(t *testing.T) {
	ref := ObjectRef{Kind: "Mesh", Name: "m"}
	a, b := NewOrigin(ref).At("spec").CreatedAt(1), NewOrigin(ref).At("spec").CreatedAt(1)
	if !a.Equal(b) || a.Compare(b) != 0 || a.Object() != ref {
		t.Errorf("%v and %v differ", a, b)
	}
	for _, other := range []Origin{
		{}, a.At("status"), a.CreatedAt(2), NewOrigin(ObjectRef{Kind: "Mesh", Name: "n"}).At("spec").CreatedAt(1),
	} {
		if a.Equal(other) || other.Equal(a) {
			t.Errorf("%v equals %v", a, other)
		}
	}
	type item struct {
		Origin Origin `json:"origin,omitzero"`
	}
	for _, c := range []struct {
		origin Origin
		text   string
	}{
		{Origin{}, `{}`},
		{NewOrigin(ObjectRef{}), `{}`},
		{Origin{Path: "spec"}, `{"origin":{"path":"spec"}}`},
		{NewOrigin(ref).At("spec"), `{"origin":{"object":{"kind":"Mesh","name":"m"},"path":"spec"}}`},
	} {
		text, err := json.Marshal(item{c.origin})
		var back item
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || string(text) != c.text || !back.Origin.Equal(c.origin) {
			t.Errorf("%v: got %s and %v, want %s (%v)", c.origin, text, back.Origin, c.text, err)
		}
	}
}

func TestGroupsInTexts(t *testing.T) {
	one := ObjectRef{Group: "a.example.com", Kind: "VirtualService", Namespace: "n", Name: "x", Cluster: "west"}
	other := ObjectRef{Group: "b.example.com", Kind: "VirtualService", Namespace: "n", Name: "y"}
	node := ObjectRef{Group: "b.example.com", Kind: "VirtualNode", Namespace: "n", Name: "y"}
	core := ObjectRef{Kind: "VirtualService", Namespace: "n", Name: "z"}
	for want, got := range map[string]string{
		"VirtualService n/x@west":               one.String(),
		"VirtualService.a.example.com n/x@west": one.Qualified(),
		"VirtualService.b.example.com n/y":      other.Beside(one),
		"VirtualNode n/y":                       node.Beside(one),
		"VirtualService n/z":                    core.Beside(one),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
