package model_test

import (
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
)

func TestFindingString(t *testing.T) {
	at := model.NewOrigin(model.ObjectRef{Kind: "VirtualNode", Namespace: "shop", Name: "cart", Cluster: "west"}).At("spec.backends[0]")
	for f, want := range map[model.Finding]string{
		model.NewFinding(at, model.CodeReferenceNotFound, "VirtualService shop/items does not exist"): "Error ReferenceNotFound VirtualNode shop/cart@west spec.backends[0]: VirtualService shop/items does not exist",
		model.NewFinding(at.At(""), model.CodeFieldNotImplemented,
			"x"): "Warning FieldNotImplemented VirtualNode shop/cart@west: x",
		// the severity of unknown codes is Error
		model.NewFinding(model.NewOrigin(model.ObjectRef{Kind: "Mesh", Name: "m"}), "New",
			"x"): "Error New Mesh m: x",
	} {
		t.Run(want, func(t *testing.T) {
			if f.String() != want {
				t.Errorf("got  %s\nwant %s", f, want)
			}
		})
	}
	if at.String() != "VirtualNode shop/cart@west spec.backends[0]" ||
		at.At("").String() != "VirtualNode shop/cart@west" {
		t.Errorf("got origins %q and %q", at, at.At(""))
	}
}

func TestSortFindings(t *testing.T) {
	f := func(name, path, text string) model.Finding {
		return model.NewFinding(model.NewOrigin(model.ObjectRef{Kind: "K", Name: name}).At(path),
			model.CodeZeroWeight, text)
	}
	want := []model.Finding{f("a", "", "x"), f("a", "", "y"), f("a", "p", "a"), f("b", "", "a")}
	got := model.SortFindings([]model.Finding{want[3], want[1], want[0], want[2], want[1], want[0]})
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := model.SortFindings(nil); len(got) != 0 {
		t.Errorf("no findings: got %v", got)
	}
}

func TestIdentityString(t *testing.T) {
	id := model.Identity{TrustDomain: "cluster.local", Namespace: "shop", Account: "cart"}
	if got := id.String(); got != "spiffe://cluster.local/ns/shop/sa/cart" {
		t.Errorf("got %s", got)
	}
}
