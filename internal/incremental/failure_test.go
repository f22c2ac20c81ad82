package incremental

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// failingRule divides 100 by the sum of its entries, and panics if the sum is 0.
type failingRule struct {
	more *Reader[int, int]
	out  *Emitter[int, int]
}

func (r failingRule) evaluate(key int, values []int) {
	r.out.Emit(key+100, 0) // is not kept after a panic
	sum := values[0]
	for _, v := range r.more.Read(key) {
		sum += v
	}
	r.out.Emit(key, 100/sum)
}

// A panic of a rule keeps its last good result, and hurts no other key. The failure ends with the next good evaluation.
func TestPanicKeepsLastGoodResult(t *testing.T) {
	g := New()
	a, b := newTestRelation[int, int](g, "a"), newTestRelation[int, int](g, "b")
	out, reports := newTestRelation[int, int](g, "out"), newTestRelation[string, string](g, "reports")
	r := NewRule(g, "reports") // is evaluated last, although it is added first
	Each(r, g.Failures(), Emits(r, reports), func(out *Emitter[string, string], k FailureKey, all []Failure) {
		out.Emit(fmt.Sprint(k.Rule, k.Key), fmt.Sprint(all[0].Value, " ", all[0].Text))
	})
	r = NewRule(g, "divide")
	Each(r, a, failingRule{Reads(r, b), Emits(r, out)}, failingRule.evaluate)
	const text = " runtime error: integer divide by zero"
	for i, c := range []struct {
		change        func()
		want          map[int]int
		failures      string
		count, stacks int
	}{
		{func() { a.Set(1, 4); a.Set(2, 0) }, map[int]int{1: 25, 101: 0}, "map[divide2:[0" + text + "]]", 1, 1},
		{func() { a.Set(1, 0) }, map[int]int{1: 25, 101: 0}, "map[divide1:[0" + text + "] divide2:[0" + text + "]]", 1, 1},
		{func() { a.Set(1, -2); b.Set(1, 2) }, map[int]int{1: 25, 101: 0},
			"map[divide1:[-2" + text + "] divide2:[0" + text + "]]", 1, 1},
		{func() { b.Set(2, 50) }, map[int]int{1: 25, 2: 2, 101: 0, 102: 0}, "map[divide1:[-2" + text + "]]", 0, 0},
		{func() { b.Set(1, 2) }, map[int]int{1: 25, 2: 2, 101: 0, 102: 0}, "map[divide1:[-2" + text + "]]", 0, 0},
		{func() { b.Delete(1) }, map[int]int{1: -50, 2: 2, 101: 0, 102: 0}, "map[]", 0, 0},
		{func() { a.Set(2, -50); a.Delete(1) }, map[int]int{2: 2, 102: 0}, "map[divide2:[-50" + text + "]]", 1, 1},
		{func() { a.Delete(2) }, map[int]int{}, "map[]", 0, 0},
	} {
		c.change()
		g.Run()
		got := map[int]int{}
		out.ForEach(func(k int, v []int) { got[k] = v[0] })
		count, stacks := 0, 0
		for _, p := range g.Panics() {
			count += p.Count
			stacks += strings.Count(string(p.Stack), "failingRule.evaluate")
		}
		if !maps.Equal(got, c.want) || fmt.Sprint(contents(reports)) != c.failures || count != c.count || stacks != c.stacks {
			t.Errorf("step %d: got %v, failures %v, %d panics, %d stacks; want %+v", i, got, contents(reports), count, stacks, c)
		}
	}
	b.Delete(2)
	g.Run()
	if left := left(g); left != "" {
		t.Errorf("without facts, these are left: %s", left)
	}
}

// A panic that repeats is counted, and has no stack. A panic of the rule that reads failures does not stop the others.
func TestRepeatedPanics(t *testing.T) {
	g := New()
	a, b := newTestRelation[int, int](g, "a"), newTestRelation[int, int](g, "b")
	r := NewRule(g, "broken")
	Each(r, a, Reads(r, b), func(b *Reader[int, int], _ int, _ []int) { panic(fmt.Sprint("no ", len(b.Read(0)) > 9)) })
	r = NewRule(g, "broken reports")
	Each(r, g.Failures(), nil, func(any, FailureKey, []Failure) { panic("no report") })
	for i := range 3 {
		a.Set(i, i)
	}
	for round, want := range []string{"broken 3 true no false; broken reports 3 true no report; ", "broken 3 false no false; "} {
		b.Set(0, round)
		g.Run()
		got := ""
		for _, p := range g.Panics() {
			got += fmt.Sprint(p.Rule, " ", p.Count, " ", len(p.Stack) > 0, " ", p.Text, "; ")
		}
		if got != want {
			t.Errorf("round %d: got %q, want %q", round, got, want)
		}
	}
}
