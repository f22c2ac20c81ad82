package requests

import "anymesh.dev/anymesh/model"

// maxProduct is the largest number of requests of a host or a listener for which all combinations of values are asked.
const maxProduct = 4096

// combine returns requests with combinations of the values of dimensions: all of them, if there are at most limit.
// Otherwise it reports false, and the requests are: for each match one that satisfies it, those that differ from it
// in one value, and those that satisfy two matches as far as possible.
func combine(start draft, all []dimension, matches []model.Match, limit int) (out []model.Request, complete bool) {
	size := 1
	for _, d := range all {
		if size *= len(d.values); size > limit {
			break
		}
	}
	if size <= limit {
		each(all, func(at []int) { out = append(out, build(start, all, at)) })
		return out, true
	}
	seen := map[string]bool{}
	add := func(at []int) {
		key := string(indexes(at))
		if !seen[key] {
			seen[key] = true
			out = append(out, build(start, all, at))
		}
	}
	witnesses := [][]int{make([]int, len(all))}
	for _, m := range matches {
		witnesses = append(witnesses, witness(start, all, m))
	}
	for _, w := range witnesses {
		for i, d := range all {
			for v := range d.values {
				at := append([]int(nil), w...)
				at[i] = v
				add(at)
			}
		}
	}
	for _, w := range witnesses[:min(len(witnesses), maxPairs)] {
		for _, o := range witnesses[:min(len(witnesses), maxPairs)] {
			at := append([]int(nil), w...)
			for i, v := range o {
				if at[i] == 0 {
					at[i] = v
				}
			}
			add(at)
		}
	}
	return out, false
}

// maxPairs limits the matches of which pairs are combined.
const maxPairs = 64

// each calls f with all combinations.
func each(all []dimension, f func(at []int)) {
	at := make([]int, len(all))
	for {
		f(at)
		i := len(all) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(all[i].values) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func build(start draft, all []dimension, at []int) model.Request {
	d := start
	for i, v := range at {
		all[i].values[v](&d)
	}
	return d.request()
}

// witness returns the values with which a request satisfies a match, as far as there are such values.
func witness(start draft, all []dimension, m model.Match) []int {
	at := make([]int, len(all))
	parts := conditions(m)
	for i, d := range all {
		best := -1
		for v := range d.values {
			try := append([]int(nil), at...)
			try[i] = v
			if n := satisfied(build(start, all, try), parts); n > best {
				best, at[i] = n, v
			}
		}
	}
	return at
}

func satisfied(r model.Request, parts []model.Match) int {
	n := 0
	for _, p := range parts {
		if p.Matches(r) {
			n++
		}
	}
	return n
}

// conditions splits a match into matches with one condition each.
func conditions(m model.Match) []model.Match {
	out := []model.Match{{Path: m.Path}, {Method: m.Method}, {Scheme: m.Scheme}}
	for _, f := range m.Headers {
		out = append(out, model.Match{Headers: []model.FieldMatch{f}})
	}
	for _, f := range m.Query {
		out = append(out, model.Match{Query: []model.FieldMatch{f}})
	}
	if m.Predicate != nil {
		out = append(out, model.Match{Predicate: m.Predicate})
	}
	return out
}

func indexes(at []int) []byte {
	out := make([]byte, 0, 2*len(at))
	for _, v := range at {
		out = append(out, byte(v>>8), byte(v))
	}
	return out
}
