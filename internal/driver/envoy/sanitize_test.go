package envoy

import (
	"math"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
)

func TestRegexTooLarge(t *testing.T) {
	for _, c := range []struct {
		expression string
		want       bool
	}{
		{"/[a-z]+", false},
		{"/(?:ab){1000}", false},
		{"/[^/]{1000}", false},
		{`/\pL{3}`, false},
		{strings.Repeat("[^/]{1000}", 25), true},
		{"(", true},
	} {
		t.Run(c.expression, func(t *testing.T) {
			if have := regexTooLarge(c.expression); have != c.want {
				t.Errorf("%.30s: got too large %v", c.expression, have)
			}
		})
	}
}

func TestScaleWeights(t *testing.T) {
	few := []weightedTarget{{"a", 3}, {"b", 1}}
	if have := scaleWeights(few); have[0].weight != 3 || have[1].weight != 1 {
		t.Errorf("weights within the limit: got %v", have)
	}
	many := scaleWeights([]weightedTarget{{"a", math.MaxUint32}, {"b", math.MaxUint32}, {"c", 1}})
	var sum uint64
	for _, w := range many {
		sum += uint64(w.weight)
	}
	if sum > math.MaxUint32 || many[0].weight != many[1].weight || many[2].weight == 0 {
		t.Errorf("got weights %v", many)
	}
}

func TestDurationIsCapped(t *testing.T) {
	if have := duration(math.MaxInt64).AsDuration(); have != maxDuration {
		t.Errorf("maximum duration: got %s", have)
	}
	if have := duration(model.Duration(time.Second)).AsDuration(); have != time.Second {
		t.Errorf("one second: got %s", have)
	}
}

// A route that Envoy would reject is omitted with a finding; other routes are kept.
func TestInvalidRouteIsSkipped(t *testing.T) {
	to := model.Action{Destinations: []model.WeightedDestination{{Destination: "d", Weight: 1}}}
	good := model.Route{Name: "good", Protocol: model.HTTP, Action: to}
	for name, match := range map[string]model.Match{
		"no name":       {Headers: []model.FieldMatch{{Kind: model.Present}}},
		"empty prefix":  {Headers: []model.FieldMatch{{Name: "a", Kind: model.Prefix}}},
		"empty pattern": {Path: model.StringMatch{Kind: model.Regex}},
		"path suffix":   {Path: model.StringMatch{Kind: model.Suffix, Value: "x"}},
		"inverted":      {Query: []model.FieldMatch{{Name: "a", Kind: model.Present, Invert: true}}},
		"large":         {Headers: []model.FieldMatch{{Name: "a", Kind: model.Regex, Value: strings.Repeat(".{1000}", 20)}}},
	} {
		t.Run(name, func(t *testing.T) {
			outbound := model.OutboundView{
				Destinations: []model.Destination{{Key: model.Key{Mesh: "m", Name: "d"}, Protocol: model.HTTP}},
			}
			r := renderer{find: outbound.Destination}
			bad := model.Route{Name: "bad", Protocol: model.HTTP, Match: match, Action: to}
			have := r.routes(model.Binding{Protocol: model.HTTP, Routes: []model.Route{bad, good}})
			if len(have) != 1 || have[0].Name != "good" || len(r.findings) != 1 {
				t.Errorf("got routes %v, findings %v", have, r.findings)
			}
		})
	}
}
