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

func newTestRelation[K comparable, V cmp.Ordered](g *Graph, name string) *Relation[K, V] {
	return NewRelation[K](g, name, cmp.Compare[V], func(a, b V) bool { return a == b })
}

// familyRules is a small set of rules that uses all features: each person has a name and a parent. If several persons
// have a name, the first one gets it. A grandparent is read through the parent, which may be added and removed.
type familyRules struct {
	g        *Graph
	people   *Relation[string, string] // person: "name parent"
	names    *Relation[string, string] // name: persons
	parents  *Relation[string, string] // name: name of the parent
	children *Relation[string, string] // name: names of children
	report   *Relation[string, string] // name: summary
	count    *Relation[int, string]    // number of children: names
}

func newFamilyRules() *familyRules {
	g := New()
	f := &familyRules{
		g: g, people: newTestRelation[string, string](g, "people"), names: newTestRelation[string, string](g, "names"),
		parents:  newTestRelation[string, string](g, "parents"),
		children: newTestRelation[string, string](g, "children"), report: newTestRelation[string, string](g, "report"),
		count: newTestRelation[int, string](g, "count"),
	}
	AddRule(g, "claim", f.people, func(t *Evaluation, person string, values []string) {
		name, _, _ := strings.Cut(values[0], " ")
		f.names.Emit(t, name, person)
	})
	AddRule(g, "parent", f.names, func(t *Evaluation, name string, persons []string) {
		fact, _ := f.people.ReadFirst(t, persons[0])
		_, parent, _ := strings.Cut(fact, " ")
		f.parents.Emit(t, name, parent)
		f.children.Emit(t, parent, name)
	})
	AddRule(g, "grandparent", f.parents, func(t *Evaluation, name string, values []string) {
		grand, known := f.parents.ReadFirst(t, values[0])
		_, _ = grand, known
		f.report.Emit(t, name, fmt.Sprintf("of %s of %s (%v), with %d siblings", values[0], grand, known,
			len(f.children.Read(t, values[0]))-1))
	})
	AddRule(g, "count", f.children, func(t *Evaluation, name string,
		values []string) {
		f.count.Emit(t, len(values), name)
	})
	f.report.TrackChanges()
	return f
}

func contents[K comparable](r *Relation[K, string]) map[K][]string {
	out := map[K][]string{}
	r.ForEach(func(k K, v []string) { out[k] = v })
	return out
}

// After any sequence of changes, the relations equal those of a full evaluation of the facts.
func TestIncrementalEqualsFullEvaluation(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		f := newFamilyRules()
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
			fresh := newFamilyRules()
			for person, fact := range facts {
				fresh.people.Set(person, fact)
			}
			fresh.g.Run()
			if got, want := contents(f.report), contents(fresh.report); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: with %v, incremental %v, full %v", seed, facts, got, want)
			}
			if got, want := contents(f.count), contents(fresh.count); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: counts: with %v, incremental %v, full %v", seed, facts, got, want)
			}
			after := contents(f.report)
			changed := f.report.TakeChanged()
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
		if n := len(f.people.slots) + len(f.names.slots) + len(f.parents.slots) + len(f.children.slots) +
			len(f.report.slots) + len(f.count.slots); n != 0 {
			t.Fatalf("seed %d: %d slots are left without facts", seed, n)
		}
	}
}

// Only evaluations that a change affects are repeated, and evaluation stops where nothing changes.
func TestEvaluationsPerChange(t *testing.T) {
	for _, size := range []int{10, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			f := newFamilyRules()
			for i := range size {
				f.people.Set(fmt.Sprint("p", i), fmt.Sprintf("n%d n%d", i, i/2))
			}
			f.g.Run()
			start := f.g.Evaluations()
			f.people.Set("p7", "n7 n3") // unchanged
			f.g.Run()
			if n := f.g.Evaluations() - start; n != 0 {
				t.Errorf("%d evaluations without a change", n)
			}
			f.people.Set("younger", "n7 n5") // p7 has the name: no effect
			f.g.Run()
			if n := f.g.Evaluations() - start; n != 2 {
				t.Errorf("%d evaluations for a claim that fails, want those of claim and parent", n)
			}
			start = f.g.Evaluations()
			f.people.Set("p7", "n7 n4")
			f.g.Run()
			if n := f.g.Evaluations() - start; n > 20 {
				t.Errorf("%d evaluations for one change", n)
			}
		})
	}
}

func panicMessage(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return ""
}

// Rules that could form a cycle panic at the first evaluation.
func TestCyclesPanic(t *testing.T) {
	g := New()
	a, b := newTestRelation[int, int](g, "a"), newTestRelation[int, int](g, "b")
	AddRule(g, "reads b", a, func(t *Evaluation, k int, _ []int) { b.Read(t, k) })
	AddRule(g, "feeds b", a, func(t *Evaluation, k int, v []int) { b.Emit(t, k, v[0]) })
	a.Set(1, 1)
	if text := panicMessage(g.Run); !strings.Contains(text,
		`rule feeds b emits into relation b, which rule reads b reads before it`) {
		t.Errorf("panic %q", text)
	}
	g = New()
	a = newTestRelation[int, int](g, "a")
	AddRule(g, "feeds itself", a, func(t *Evaluation, k int, v []int) { a.Emit(t, k+1, v[0]) })
	a.Set(1, 1)
	if text := panicMessage(g.Run); !strings.Contains(text, "feeds itself") {
		t.Errorf("panic %q", text)
	}
	if text := panicMessage(func() {
		AddRule(g, "late", a,
			func(*Evaluation, int, []int) {})
	}); !strings.Contains(text, "late is added after the facts") {
		t.Errorf("panic %q", text)
	}
}
