package requests

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
)

// view returns a view with a service whose routes have matches. Each route has a destination of its own.
func view(matches []model.Match) *model.View {
	var routes []model.Route
	for i, m := range matches {
		name := string(rune('a' + i))
		routes = append(routes, model.Route{
			Name: name, Protocol: model.HTTP, Match: m,
			Action: model.Action{Destinations: []model.WeightedDestination{{Destination: name, Weight: 1}}},
		})
	}
	return &model.View{
		Mesh: model.Mesh{Egress: model.EgressDeny},
		OutboundView: model.OutboundView{Outbound: []model.Outbound{{Port: 80, Bindings: []model.Binding{
			{Service: "s", Protocol: model.HTTP, Hosts: []string{"s", "s.ns"}, Routes: routes},
		}}}},
	}
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// randomMatch returns a match of which the universe has requests on both sides.
func randomMatch(r *rand.Rand) model.Match {
	var m model.Match
	if r.IntN(4) > 0 {
		m.Path = pick(r,
			model.StringMatch{Kind: model.Exact, Value: pick(r, "/", "/a", "/a/b", "/b")},
			model.StringMatch{Kind: model.Prefix, Value: pick(r, "/", "/a", "/a/", "/b", "/ab")},
			model.StringMatch{Kind: model.PathPrefix, Value: pick(r, "/", "/a", "/b", "/a/b")},
			model.StringMatch{Kind: model.Regex, Value: pick(r, "/a", "/(a|b)", "/a/b", "/[ab]b")})
	}
	if r.IntN(3) == 0 {
		m.Method = pick(r, "GET", "POST")
	}
	field := func(name string) model.FieldMatch {
		return model.FieldMatch{
			Name: name, Kind: pick(r, model.Exact, model.Prefix, model.Suffix, model.Present), Value: pick(r, "a", "b", "ab"),
			Invert: r.IntN(4) == 0,
		}
	}
	if r.IntN(2) == 0 {
		m.Headers = append(m.Headers, field("x"))
	}
	if r.IntN(3) == 0 {
		m.Query = append(m.Query, field("q"))
	}
	return m
}

// universe lists all requests of a small world.
func universe() []model.Request {
	var out []model.Request
	values := []string{"", "a", "b", "ab", "abb", "aab", "c"}
	for _, path := range []string{"/", "/a", "/b", "/c", "/ab", "/bb", "/aa", "/abc", "/a/", "/a/b", "/a/c", "/a/bc", "/a/b/c", "/b/a"} {
		for _, method := range []string{"GET", "POST", "PUT"} {
			for _, header := range values {
				for _, query := range values {
					q := model.Request{Port: 80, Protocol: model.HTTP, Host: "s", Path: path, Method: method}
					if header != "" {
						q.Headers = []model.Header{{Name: "X", Value: header}}
					}
					if query != "" {
						q.Path += "?q=" + query
					}
					out = append(out, q)
				}
			}
		}
	}
	return out
}

// differ reports whether the views send a request to different destinations.
func differ(a, b *model.View, r model.Request) bool { return a.Decide(r).Route != b.Decide(r).Route }

// If any request of a small world tells two configurations apart, a derived one does.
func TestDerivedRequestsFindEachDifference(t *testing.T) {
	all, found := universe(), 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		var first []model.Match
		for range 1 + r.IntN(3) {
			first = append(first, randomMatch(r))
		}
		second := slices.Clone(first)
		if at := r.IntN(len(second)); r.IntN(3) > 0 || len(second) == 1 {
			second[at] = randomMatch(r)
		} else {
			slices.Reverse(second)
		}
		a, b := view(first), view(second)
		set := Outbound(a, b)
		if len(set.Partial) > 0 {
			t.Fatalf("seed %d: combinations are missing for %v", seed, set.Partial)
		}
		i := slices.IndexFunc(all, func(q model.Request) bool { return differ(a, b, q) })
		if i < 0 {
			continue
		}
		found++
		if !slices.ContainsFunc(set.Requests, func(q model.Request) bool { return differ(a, b, q) }) {
			t.Errorf("seed %d: %+v tells apart\n%+v\n%+v\nbut no derived request does", seed, all[i], first, second)
		}
	}
	if found < 100 {
		t.Errorf("only %d of the configurations differ", found)
	}
}

// With too many conditions, each is still met alone and with that of each other route, and the set says so.
func TestManyConditions(t *testing.T) {
	var first []model.Match
	for i := range 12 {
		name := "h" + string(rune('a'+i))
		first = append(first, model.Match{Headers: []model.FieldMatch{{Name: name, Kind: model.Exact, Value: "v"}}})
	}
	swapped := slices.Clone(first)
	swapped[3], swapped[9] = swapped[9], swapped[3]
	a, b := view(first), view(swapped)
	set := Outbound(a, b)
	if !slices.Equal(set.Partial, []string{"s"}) || len(set.Requests) > 2*maxProduct {
		t.Errorf("%d requests, partial %v", len(set.Requests), set.Partial)
	}
	if !slices.ContainsFunc(set.Requests, func(q model.Request) bool {
		x, y := a.Decide(q), b.Decide(q)
		return len(x.Targets) == 1 && len(y.Targets) == 1 && first[x.Targets[0].Destination[0]-'a'].Headers[0].Name !=
			swapped[y.Targets[0].Destination[0]-'a'].Headers[0].Name
	}) {
		t.Error("no request shows that the order of two routes differs")
	}
}

// Samples of a regular expression match it as a whole, except for the last one.
func TestSamples(t *testing.T) {
	for _, pattern := range []string{
		`/items/[0-9]+`, `a|b|cd`, `^/x$`, `(v1|v2)\.[a-z]{2,3}`, `[^/]+`, `/a/?`, `(?i)Beta`, `.*`, ``, `\d{4}-\d\d`, `/(?:ab){3}|/[^/]{1,300}-long`,
	} {
		whole := regexp.MustCompile(`\A(?:` + pattern + `)\z`)
		all := samples(pattern)
		if len(all) == 0 {
			t.Errorf("%q has no samples", pattern)
			continue
		}
		for i, s := range all {
			if want := i < len(all)-1 || pattern == ".*"; whole.MatchString(s) != want && pattern != "[^/]+" {
				t.Errorf("%q: sample %d is %q", pattern, i, s)
			}
		}
	}
	if got := samples("("); got != nil {
		t.Errorf("an invalid expression has the samples %q", got)
	}
}

// FuzzSamples checks that no expression makes samples that are long or many, and that all but the last one match.
func FuzzSamples(f *testing.F) {
	f.Add(`(a|b)*c{3}`)
	f.Add(`((((x{9}){9}){9}){9})`)
	f.Fuzz(func(t *testing.T, pattern string) {
		if len(pattern) > 200 {
			return
		}
		all := samples(pattern)
		if len(all) > maxSamples+1 {
			t.Errorf("%d samples", len(all))
		}
		for _, s := range all {
			if len(s) > 100_000 {
				t.Errorf("a sample has %d bytes", len(s))
			}
		}
	})
}

// Clients without TLS, without a certificate, and with each certificate that a listener or a policy names are asked
// for.
func TestInboundClients(t *testing.T) {
	id := model.Identity{TrustDomain: "cluster.local", Namespace: "shop", Account: "front"}
	v := &model.View{
		Workload: model.Workload{Authorize: true},
		Inbound: []model.Inbound{{Listener: model.Listener{Port: 80, Protocol: model.HTTP, TLS: &model.ServerTLS{
			Mode: model.TLSStrict, Certificate: &model.Certificate{},
			Validation: &model.Validation{TrustSecret: model.Secret{Provider: model.ProviderMesh, Name: "spiffe://cluster.local"}},
		}}}},
		AuthorizationPolicies: []model.AuthorizationPolicy{{
			Sources: []model.Identity{id}, Matches: []model.Match{{Method: "POST"}},
		}},
	}
	outcomes := map[model.Outcome]int{}
	for _, r := range Inbound(v).Requests {
		outcomes[v.DecideInbound(r).Outcome]++
	}
	for _, want := range []model.Outcome{model.ToApplication, model.Denied, model.Refused} {
		if outcomes[want] == 0 {
			t.Errorf("no request is %s: %v", want, outcomes)
		}
	}
}
