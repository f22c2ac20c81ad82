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
	shared   *Relation[string, string] // name: facts of the persons, if there are several
}

func newFamilyRules() *familyRules { return shuffledFamilyRules(nil) }

// shuffledFamilyRules returns the rules in random order, if random is not nil.
func shuffledFamilyRules(random *rand.Rand) *familyRules {
	g := New()
	f := &familyRules{
		g: g, people: newTestRelation[string, string](g, "people"), names: newTestRelation[string, string](g, "names"),
		parents:  newTestRelation[string, string](g, "parents"),
		children: newTestRelation[string, string](g, "children"), report: newTestRelation[string, string](g, "report"),
		count: newTestRelation[int, string](g, "count"), shared: newTestRelation[string, string](g, "shared"),
	}
	r := NewRule(g, "claim")
	Each(r, f.people, Emits(r, f.names), func(names *Emitter[string, string], person string, values []string) {
		name, _, _ := strings.Cut(values[0], " ")
		names.Emit(name, person)
	})
	r = NewRule(g, "parent")
	Each(r, f.names, parentRule{Reads(r, f.people), Emits(r, f.parents), Emits(r, f.children)}, parentRule.evaluate)
	r = NewRule(g, "grandparent")
	Each(r, f.parents, grandparentRule{Reads(r, f.parents), Reads(r, f.children), Emits(r, f.report)},
		grandparentRule.evaluate)
	r = NewRule(g, "count")
	Each(r, f.children, Emits(r, f.count), func(count *Emitter[int, string], name string, values []string) {
		count.Emit(len(values), name)
	})
	r = NewRule(g, "shared")
	EachSeveral(r, f.names, sharedRule{Reads(r, f.people), Emits(r, f.shared)}, sharedRule.evaluate)
	if random != nil {
		g.Shuffle(random.Shuffle)
	}
	f.report.TrackChanges()
	return f
}

type parentRule struct {
	people            *Reader[string, string]
	parents, children *Emitter[string, string]
}

func (r parentRule) evaluate(name string, persons []string) {
	fact, _ := r.people.ReadFirst(persons[0])
	_, parent, _ := strings.Cut(fact, " ")
	r.parents.Emit(name, parent)
	r.children.Emit(parent, name)
}

type sharedRule struct {
	people *Reader[string, string]
	shared *Emitter[string, string]
}

func (r sharedRule) evaluate(name string, persons []string) {
	if len(persons) < 2 {
		panic("evaluated for " + fmt.Sprint(persons))
	}
	for _, person := range persons {
		fact, _ := r.people.ReadFirst(person)
		r.shared.Emit(name, person+" "+fact)
	}
}

type grandparentRule struct {
	parents, children *Reader[string, string]
	report            *Emitter[string, string]
}

func (r grandparentRule) evaluate(name string, values []string) {
	grand, known := r.parents.ReadFirst(values[0])
	r.report.Emit(name, fmt.Sprintf("of %s of %s (%v), with %d siblings", values[0], grand, known,
		len(r.children.Read(values[0]))-1))
}

func contents[K comparable](r *Relation[K, string]) map[K][]string {
	out := map[K][]string{}
	r.ForEach(func(k K, v []string) { out[k] = v })
	return out
}

// After any sequence of changes, the relations equal those of a full evaluation of the facts, with the rules in
// another order.
func TestIncrementalEqualsFullEvaluation(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		f := shuffledFamilyRules(random)
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
			if p := f.g.Panics(); len(p) > 0 {
				t.Fatalf("seed %d: %+v", seed, p)
			}
			if got, want := contents(f.shared), contents(fresh.shared); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: shared names: with %v, incremental %v, full %v", seed, facts, got, want)
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
		if left := left(f.g); left != "" {
			t.Fatalf("seed %d: without facts, these are left: %s", seed, left)
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
			if n := f.g.Evaluations() - start; n != 3 {
				t.Errorf("%d evaluations for a claim that fails, want those of claim, parent and shared", n)
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

// What owners share is made once, and its rules belong to another owner.
func TestShared(t *testing.T) {
	g := New()
	type numbers struct{ *Relation[string, int] }
	made := 0
	of := func() numbers {
		return Shared(g, "shared", func() numbers {
			made++
			r := NewRelation[string](g, "numbers", cmp.Compare[int], func(a, b int) bool { return a == b })
			rule := NewRule(g, "rule")
			Each(rule, r, struct{}{}, func(struct{}, string, []int) {})
			return numbers{r}
		})
	}
	for _, owner := range []string{"a", "b"} {
		g.SetOwner(owner)
		of()
		if g.Owner() != owner {
			t.Errorf("the owner is %s, want %s", g.Owner(), owner)
		}
	}
	if made != 1 || g.rules[len(g.rules)-1].Name() != "shared: rule" {
		t.Errorf("made %d times, last rule %s", made, g.rules[len(g.rules)-1].Name())
	}
}
