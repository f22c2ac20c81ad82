package compare

import (
	"cmp"
	"slices"

	"anymesh.dev/anymesh/internal/cli/explain"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/model/requests"
)

// Difference is an aspect in which the answers of both sides differ, in the same way for one or more requests.
type Difference struct {
	Aspect Aspect `json:"aspect"`
	A      string `json:"a"`
	B      string `json:"b"`
	// FieldA and FieldB are the objects and fields that decide about the first request, if they are known.
	FieldA string `json:"fieldA,omitempty"`
	FieldB string `json:"fieldB,omitempty"`
	// Parties are the applications and gateways. Inbound is true if they receive the requests, false if they send them.
	Parties []string `json:"parties"`
	Inbound bool     `json:"inbound,omitempty"`
	// Requests counts the requests; Example is the first one. A difference that no request shows has none.
	Requests int            `json:"requests,omitempty"`
	Example  *model.Request `json:"example,omitempty"`
}

// Report is the result of a comparison.
type Report struct {
	A string `json:"a"`
	B string `json:"b"`
	// Differences are in the order in which requests show them.
	Differences []Difference `json:"differences"`
	// Parties and Requests count what was compared.
	Parties  int `json:"parties"`
	Requests int `json:"requests"`
	// Ignored are the aspects that were not compared.
	Ignored []Aspect `json:"ignored,omitempty"`
	// Partial names hosts with more combinations of conditions than requests: for them, a difference may be missed that
	// needs three conditions at once.
	Partial []string `json:"partial,omitempty"`
	// Observed is what real sidecars did; empty if none ran.
	Observed []Observation `json:"observed,omitempty"`
}

// Equal reports whether there is no difference, and real sidecars did as decided.
func (r *Report) Equal() bool {
	return len(r.Differences) == 0 && !slices.ContainsFunc(r.Observed, func(o Observation) bool { return !o.AsDecided() })
}

// Run compares two sides.
func Run(a, b *Side, ignored []Aspect) *Report {
	r := &Report{A: a.Name, B: b.Name, Differences: []Difference{}, Ignored: ignored}
	pairs := pair(a, b)
	for _, p := range pairs {
		r.Parties++
		r.pair(a, b, p)
	}
	return r
}

// partners is a party on both sides; one of them is nil if the other side does not have it.
type partners struct{ a, b *party }

// pair finds the parties of both sides that are the same: by their pods, then by the names of their objects, if the
// manifests of one side do not have the pods.
func pair(sideA, sideB *Side) []partners {
	a, b := sideA.parties(), sideB.parties()
	var out []partners
	used := make([]bool, len(b))
	partner := func(same func(o party) bool) *party {
		for i := range b {
			if !used[i] && same(b[i]) {
				used[i] = true
				return &b[i]
			}
		}
		return nil
	}
	for i := range a {
		out = append(out, partners{a: &a[i]})
		if p := a[i]; p.name != "" {
			out[i].b = partner(func(o party) bool { return o.name == p.name })
		}
	}
	for i := range out {
		p := out[i].a
		if out[i].b != nil || sideB.hasPod(p.name) {
			continue
		}
		out[i].b = partner(func(o party) bool {
			return o.object == p.object && o.gateway == p.gateway && !sideA.hasPod(o.name) && (o.name == "" || p.name == "")
		})
	}
	for i := range b {
		if !used[i] {
			out = append(out, partners{b: &b[i]})
		}
	}
	return out
}

// name returns the name of the party for people.
func (p partners) name() string {
	for _, one := range []*party{p.a, p.b} {
		if one != nil && one.name != "" {
			return one.name
		}
	}
	one := cmp.Or(p.a, p.b)
	if one.gateway {
		return "gateway " + one.object
	}
	return one.object
}

// pair asks all requests of a party on both sides.
func (r *Report) pair(a, b *Side, p partners) {
	member := map[bool]string{true: "in the mesh", false: "not in the mesh"}
	only := question{party: p.name()}
	r.diff(only, a, b, []fact{{Membership, member[p.a != nil], model.Origin{}}},
		[]fact{{Membership, member[p.b != nil], model.Origin{}}})
	if p.a == nil || p.b == nil {
		return
	}
	r.diff(only, a, b, a.settings(*p.a), b.settings(*p.b))
	views := []*model.View{a.view(*p.a), b.view(*p.b)}
	if !p.a.gateway {
		r.ask(a, b, p, requests.Outbound(views...), false)
	}
	r.ask(a, b, p, requests.Inbound(views...), true)
}

// question is a request of a party, or to it. Without a request, it is about the settings of the party.
type question struct {
	party   string
	inbound bool
	request *model.Request
}

// ask asks requests on both sides.
func (r *Report) ask(a, b *Side, p partners, set requests.Set, inbound bool) {
	for _, host := range set.Partial {
		r.Partial = append(r.Partial, p.name()+" "+host)
	}
	for _, request := range set.Requests {
		r.Requests++
		r.diff(question{p.name(), inbound, &request}, a, b, a.ask(*p.a, request, inbound), b.ask(*p.b, request, inbound))
	}
}

// ask returns the facts about a request.
func (s *Side) ask(p party, r model.Request, inbound bool) []fact {
	asked := explain.Request{Request: r}
	if inbound {
		return s.answer(p, s.explainer.Into(p.workload, asked))
	}
	if !r.Address.IsValid() {
		asked.Name = r.Host
	}
	return s.answer(p, s.explainer.From(p.workload, asked))
}

// diff adds the aspects that differ. An aspect that one side does not have, because the request fails there, is not
// compared.
func (r *Report) diff(q question, a, b *Side, factsA, factsB []fact) {
	for _, aspect := range Aspects() {
		x, y := find(factsA, aspect), find(factsB, aspect)
		if x == nil || y == nil || x.value == y.value || slices.Contains(r.Ignored, aspect) {
			continue
		}
		i := slices.IndexFunc(r.Differences, func(d Difference) bool {
			return d.Aspect == aspect && d.A == x.value && d.B == y.value && d.Inbound == q.inbound
		})
		if i < 0 {
			i = len(r.Differences)
			r.Differences = append(r.Differences, Difference{
				Aspect: aspect, A: x.value, B: y.value, FieldA: a.field(x.origin), FieldB: b.field(y.origin),
				Inbound: q.inbound, Example: q.request,
			})
		}
		d := &r.Differences[i]
		if !slices.Contains(d.Parties, q.party) {
			d.Parties = append(d.Parties, q.party)
		}
		if q.request != nil {
			d.Requests++
		}
	}
}

func (s *Side) field(o model.Origin) string {
	if o.Object() == (model.ObjectRef{}) {
		return ""
	}
	return s.kinds.Origin(o)
}

func find(all []fact, aspect Aspect) *fact {
	i := slices.IndexFunc(all, func(f fact) bool { return f.aspect == aspect })
	if i < 0 {
		return nil
	}
	return &all[i]
}
