package metadata

import "testing"

func TestPathsIgnoreSlashesAtTheEnds(t *testing.T) {
	tree := Tree{map[string]any{"a": map[string]any{"b": []any{"x", 2}}}}
	for pointer, want := range map[string]any{
		"/a/b/0": "x", "a/b/0": "x", "/a/b/1/": 2.0, "/a/b/2": nil, "/a/b/-1": nil, "/a/c/d": nil, "/a/b/0/x": nil,
	} {
		if got := tree.Lookup(ParsePath(pointer)); got.Interface() != want {
			t.Errorf("%s is %v, want %v", pointer, got.Interface(), want)
		}
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct {
		path string
		v    any
		want string // of the whole document; of the error if it begins with "!"
	}{
		{"/labels/id", "7", "{a:{b:1,},labels:{id:7,},list:[1,],}"},
		{"labels", 7, "{a:{b:1,},labels:7,list:[1,],}"},
		{"/a/b", nil, "{a:{b:null,},list:[1,],}"},
		{"/list/0/x", nil, "!/list/0/x: /list/0 is no object"},
		{"/list/0", true, "{a:{b:1,},list:[true,],}"},
		{"/list/1", true, "!/list/1: the list has no element 1"},
		{"/a/b/c", 1, "!/a/b/c: /a/b is no object"},
		{"/", map[string]any{"x": 1}, "{x:1,}"},
	} {
		tree := Tree{map[string]any{"a": map[string]any{"b": 1}, "list": []any{1}}}
		got := ""
		if err := tree.Set(ParsePath(c.path), c.v); err != nil {
			got = "!" + err.Error()
		} else {
			got = string(tree.Lookup(nil).Append(nil))
		}
		if got != c.want {
			t.Errorf("%s = %v: got %s, want %s", c.path, c.v, got, c.want)
		}
	}
}

// A rewrite copies its value: sessions do not share it.
func TestSetCopies(t *testing.T) {
	shared := map[string]any{"x": 1}
	one, two := Tree{map[string]any{}}, Tree{map[string]any{}}
	_, _ = one.Set(ParsePath("/l"), shared), two.Set(ParsePath("/l"), shared)
	_ = one.Set(ParsePath("/l/x"), 2)
	if got := two.Lookup(ParsePath("/l/x")).Num; got != 1 {
		t.Errorf("the other document has %v", got)
	}
}
