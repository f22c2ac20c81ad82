package dialect_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/model"
)

// A kind has its group only beside a kind of the same name, or if no dialect reads it.
func TestKindNames(t *testing.T) {
	ref := func(group, kind string) model.ObjectRef {
		return model.ObjectRef{Group: group, Kind: kind, Namespace: "n", Name: "x"}
	}
	one, other := ref("appmesh.k8s.aws", "VirtualService"), ref("l7mp.io", "VirtualService")
	unknown, pod := ref("example.com", "VirtualService"), ref("", "Pod")
	for _, c := range []struct {
		of   []model.ObjectRef
		want []string
	}{
		{[]model.ObjectRef{one, pod}, []string{"VirtualService n/x", "Pod n/x"}},
		{[]model.ObjectRef{other}, []string{"VirtualService n/x"}},
		{[]model.ObjectRef{one, other}, []string{"VirtualService.appmesh.k8s.aws n/x", "VirtualService.l7mp.io n/x"}},
		{[]model.ObjectRef{one, unknown}, []string{"VirtualService n/x", "VirtualService.example.com n/x"}},
	} {
		names := dialect.KindNamesOf(slices.Values(c.of))
		for i, r := range c.of {
			if got := names.Object(r); got != c.want[i] {
				t.Errorf("%v: got %q, want %q", c.of, got, c.want[i])
			}
			if got := names.Kind(schema.GroupKind{Group: r.Group, Kind: r.Kind}) + " n/x"; got != c.want[i] {
				t.Errorf("%v: got kind %q, want %q", c.of, got, c.want[i])
			}
		}
	}
}
