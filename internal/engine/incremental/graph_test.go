package incremental

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func relation[K comparable, V cmp.Ordered](g *Graph, name string) *Relation[K, V] {
	return NewRelation[K](g, name, cmp.Compare[V], func(a, b V) bool { return a == b })
}

// family is a small set of rules with all that rules may do: each person names a parent; older ones win a disputed name; a
// grandparent is read through the parent, who may come and go.
type family struct {
	g        *Graph
	people   *Relation[string, string] // person: "name parent"
	names    *Relation[string, string] // name: persons
	parents  *Relation[string, string] // name: name of the parent
	children *Relation[string, string] // name: names of children
	report   *Relation[string, string] // name: what is known
	count    *Relation[int, string]    // number of children: names
}

func newFamily() *family {
	g := New()
	f := &family{
		g: g, people: relation[string, string](g, "people"), names: relation[string, string](g, "names"), parents: relation[string, string](g, "parents"),
		children: relation[string, string](g, "children"), report: relation[string, string](g, "report"), count: relation[int, string](g, "count"),
	}
	Each(g, "claim", f.people, func(t *Task, person string, values []string) {
		name, _, _ := strings.Cut(values[0], " ")
		f.names.Emit(t, name, person)
	})
	Each(g, "parent", f.names, func(t *Task, name string, persons []string) {
		said, _ := f.people.First(t, persons[0])
		_, parent, _ := strings.Cut(said, " ")
		f.parents.Emit(t, name, parent)
		f.children.Emit(t, parent, name)
	})
	Each(g, "grandparent", f.parents, func(t *Task, name string, values []string) {
		grand, known := f.parents.First(t, values[0])
		_, _ = grand, known
		f.report.Emit(t, name, fmt.Sprintf("of %s of %s (%v), with %d siblings", values[0], grand, known, len(f.children.All(t, values[0]))-1))
	})
	Each(g, "count", f.children, func(t *Task, name string, values []string) { f.count.Emit(t, len(values), name) })
	f.report.Observe()
	return f
}

func contents[K comparable](r *Relation[K, string]) map[K][]string {
	out := map[K][]string{}
	r.Each(func(k K, v []string) { out[k] = v })
	return out
}

// After any sequence of changes, the relations are what they are when one starts afresh with the facts.
func TestIncrementalEqualsFull(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		f := newFamily()
		facts := map[string]string{}
		before := map[string][]string{}
		for range 40 {
			for range 1 + random.IntN(3) {
				person := fmt.Sprint("p", random.IntN(8))
				if random.IntN(3) == 0 {
					delete(facts, person)
					f.people.Delete(person)
					continue
				}
				facts[person] = fmt.Sprintf("n%d n%d", random.IntN(5), random.IntN(5))
				f.people.Set(person, facts[person])
			}
			f.g.Run()
			fresh := newFamily()
			for person, fact := range facts {
				fresh.people.Set(person, fact)
			}
			fresh.g.Run()
			if got, want := contents(f.report), contents(fresh.report); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: with %v, incremental %v, afresh %v", seed, facts, got, want)
			}
			if got, want := contents(f.count), contents(fresh.count); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: counts: with %v, incremental %v, afresh %v", seed, facts, got, want)
			}
			after := contents(f.report)
			changed := f.report.Changed()
			for _, name := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after))) {
				if !slices.Equal(before[name], after[name]) && !slices.Contains(changed, name) {
					t.Fatalf("seed %d: the report of %s changed and is not among %v", seed, name, changed)
				}
			}
			before = after
		}
		for person := range facts {
			f.people.Delete(person)
		}
		f.g.Run()
		if n := len(f.people.slots) + len(f.names.slots) + len(f.parents.slots) + len(f.children.slots) + len(f.report.slots) + len(f.count.slots); n != 0 {
			t.Fatalf("seed %d: %d slots are left when all facts are gone", seed, n)
		}
	}
}

// What does not concern a change is not evaluated, and evaluation stops where nothing changes.
func TestWorkGrowsWithTheChange(t *testing.T) {
	for _, size := range []int{10, 1000} {
		f := newFamily()
		for i := range size {
			f.people.Set(fmt.Sprint("p", i), fmt.Sprintf("n%d n%d", i, i/2))
		}
		f.g.Run()
		start := f.g.Evaluations()
		f.people.Set("p7", "n7 n3") // as before
		f.g.Run()
		if n := f.g.Evaluations() - start; n != 0 {
			t.Errorf("of %d: %d evaluations without a change", size, n)
		}
		f.people.Set("younger", "n7 n5") // the name is p7's: nothing follows
		f.g.Run()
		if n := f.g.Evaluations() - start; n != 2 {
			t.Errorf("of %d: %d evaluations for a claim that fails, want those of claim and parent", size, n)
		}
		start = f.g.Evaluations()
		f.people.Set("p7", "n7 n4")
		f.g.Run()
		if n := f.g.Evaluations() - start; n > 20 {
			t.Errorf("of %d: %d evaluations for one change", size, n)
		}
	}
}

func panics(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// Rules that could go round in circles are errors of the programmer, found at the first evaluation.
func TestNoCycles(t *testing.T) {
	g := New()
	a, b := relation[int, int](g, "a"), relation[int, int](g, "b")
	Each(g, "reads b", a, func(t *Task, k int, _ []int) { b.All(t, k) })
	Each(g, "feeds b", a, func(t *Task, k int, v []int) { b.Emit(t, k, v[0]) })
	a.Set(1, 1)
	if text := panics(g.Run); !strings.Contains(text, `rule feeds b emits into relation b, which rule reads b reads before it`) {
		t.Errorf("said %q", text)
	}
	g = New()
	a = relation[int, int](g, "a")
	Each(g, "feeds itself", a, func(t *Task, k int, v []int) { a.Emit(t, k+1, v[0]) })
	a.Set(1, 1)
	if text := panics(g.Run); !strings.Contains(text, "feeds itself") {
		t.Errorf("said %q", text)
	}
	if text := panics(func() { Each(g, "late", a, func(*Task, int, []int) {}) }); !strings.Contains(text, "late comes after the facts") {
		t.Errorf("said %q", text)
	}
}
