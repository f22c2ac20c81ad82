package incremental

import (
	"fmt"
	"strings"
	"testing"
)

// Mistakes in the declarations of a rule panic before the first evaluation.
func TestWrongDeclarationsPanicAtStart(t *testing.T) {
	type (
		reader = *Reader[int, int]
		access struct {
			out *Emitter[int, int]
			in  reader
		}
		outer struct{ inner *access }
	)
	nothing := func(any, int, []int) {}
	for name, c := range map[string]struct {
		declare func(g *Graph, a, b *Relation[int, int])
		want    string
	}{
		"cycle": {func(g *Graph, a, b *Relation[int, int]) {
			r := NewRule(g, "forward")
			Each[any](r, a, Emits(r, b), nothing)
			r = NewRule(g, "back")
			Each[any](r, b, Emits(r, a), nothing)
		}, "form a cycle: rule forward reads relation a, into which rule back emits; " +
			"rule back reads relation b, into which rule forward emits"},
		"a rule feeds itself": {func(g *Graph, a, _ *Relation[int, int]) {
			r := NewRule(g, "loop")
			Each[any](r, a, Emits(r, a), nothing)
		}, "rule loop reads relation a, into which rule loop emits"},
		"missing declaration": {func(g *Graph, a, b *Relation[int, int]) {
			r := NewRule(g, "rare")
			Each[any](r, a, outer{&access{Emits(r, b), nil}}, nothing)
		}, "rule rare does not declare *incremental.Reader[int,int] inner in"},
		"handle of another rule": {func(g *Graph, a, b *Relation[int, int]) {
			r := NewRule(g, "one")
			in := Reads(r, b)
			Each[any](r, a, in, nothing)
			r = NewRule(g, "two")
			Each[any](r, a, []reader{in}, nothing)
		}, "rule two has a handle of another rule: *incremental.Reader[int,int][0]"},
		"relation": {func(g *Graph, a, b *Relation[int, int]) {
			r := NewRule(g, "direct")
			Each[any](r, a, map[string]any{"b": b}, nothing)
		}, "rule direct has access to *incremental.Relation[int,int][b]; declare it"},
		"late declaration": {func(g *Graph, a, b *Relation[int, int]) {
			r := NewRule(g, "late")
			Each[any](r, a, nil, nothing)
			Reads(r, b)
		}, "rule late declares the use of relation b after Each"},
		"no source": {func(g *Graph, _, _ *Relation[int, int]) { NewRule(g, "unfinished") }, "rule unfinished has no source"},
		"same name": {func(g *Graph, _, _ *Relation[int, int]) {
			g.SetOwner("us")
			NewRule(g, "twin")
			NewRule(g, "twin")
		}, "two rules have the name us: twin"},
		"rule after facts": {func(g *Graph, a, _ *Relation[int, int]) {
			a.Set(1, 1)
			NewRule(g, "late")
		}, "rule late is added after Seal"},
	} {
		t.Run(name, func(t *testing.T) {
			g := New()
			a, b := newTestRelation[int, int](g, "a"), newTestRelation[int, int](g, "b")
			if text := panicMessage(func() { c.declare(g, a, b); g.Seal() }); !strings.Contains(text, c.want) {
				t.Errorf("got panic %q, want %q", text, c.want)
			}
		})
	}
}

func panicMessage(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// A rule that is added before the rule that feeds it is evaluated after it.
func TestOrderFollowsDeclarations(t *testing.T) {
	g := New()
	a, b := newTestRelation[int, int](g, "a"), newTestRelation[int, int](g, "b")
	c := newTestRelation[int, int](g, "c")
	r := NewRule(g, "sums")
	type sums struct {
		in  *Reader[int, int]
		out *Emitter[int, int]
	}
	Each(r, a, sums{Reads(r, b), Emits(r, c)}, func(s sums, key int, values []int) {
		sum := values[0]
		for _, v := range s.in.Read(key) {
			sum += v
		}
		s.out.Emit(key, sum)
	})
	r = NewRule(g, "copies")
	Each(r, a, Emits(r, b), func(out *Emitter[int, int], key int, values []int) { out.Emit(key+1, values[0]) })
	a.Set(1, 1)
	a.Set(2, 10)
	g.Run()
	if got, _ := c.GetFirst(2); got != 11 || g.Evaluations() != 4 {
		t.Errorf("got %d after %d evaluations, want 11 after 4", got, g.Evaluations())
	}
}

// Different entries that compare returns 0 for are reported, equal ones are not.
func TestAmbiguitiesAreReported(t *testing.T) {
	type pair struct{ rank, value int }
	for want, entries := range map[string][]pair{
		"[]":        {{1, 1}, {2, 1}, {1, 1}, {3, 4}},
		"[winners]": {{1, 1}, {2, 1}, {1, 2}, {3, 4}},
	} {
		g := New()
		a := newTestRelation[int, int](g, "a")
		winners := NewRelation[string](g, "winners", func(x, y pair) int { return x.rank - y.rank },
			func(x, y pair) bool { return x == y })
		r := NewRule(g, "emit")
		Each(r, a, Emits(r, winners), func(out *Emitter[string, pair], i int, _ []int) { out.Emit("all", entries[i]) })
		for i := range entries {
			a.Set(i, i)
		}
		g.Run()
		if got := fmt.Sprint(g.Ambiguities()); got != want {
			t.Errorf("%v: got %s, want %s", entries, got, want)
		}
	}
}
