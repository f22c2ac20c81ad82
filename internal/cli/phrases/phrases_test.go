package phrases

import (
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
)

func TestPhrases(t *testing.T) {
	second := model.Duration(time.Second)
	for _, c := range []struct{ got, want string }{
		{Match(model.Match{}), "any request"},
		{Match(model.Match{Path: model.StringMatch{Kind: model.Prefix, Value: "/a"}, Method: "GET", Headers: []model.FieldMatch{
			{Name: "v", Kind: model.Range, Start: 1, End: 3}, {Name: "x", Kind: model.Exact, Value: "y", Invert: true},
		}}), "path begins with /a, method GET, header v is in [1, 3), header x not: is y"},
		{Match(model.Match{Path: model.StringMatch{Kind: model.PathPrefix, Value: "/a"}}), "path is /a or below"},
		{Retry(model.Retry{}), "none"},
		{Retry(model.Retry{Retries: 2, PerTry: 2 * second, Conditions: []model.RetryCondition{model.RetryReset}, StatusCodes: []uint16{502, 503, 504, 500, 510}}),
			"up to 2, per-try timeout 2s, on reset, status 500, 502-504, 510"},
		{Timeouts(model.Timeouts{Request: 300 * second}), "request 5m, idle no limit"},
		{Duration(3600 * second), "1h"},
		{Duration(90 * second), "1m30s"},
		{Share(1, 3), "33.3%"},
		{Share(0, 0), "-"},
		{Outcome(model.NotFound, model.GRPC), "the sidecar responds with gRPC status UNIMPLEMENTED"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}

// A request that matches also meets each condition of the match.
func TestConditionsSplitMatch(t *testing.T) {
	m := model.Match{
		Path: model.StringMatch{Kind: model.Exact, Value: "/a"}, Method: "GET",
		Query: []model.FieldMatch{{Name: "q", Kind: model.Present}},
	}
	r := model.Request{Path: "/a?q=1", Method: "GET"}
	for _, c := range Conditions(m) {
		if !c.Match.Matches(r) {
			t.Errorf("condition %s is not met", c.Text)
		}
	}
	if r.Method = "PUT"; Conditions(m)[1].Match.Matches(r) || !Conditions(m)[0].Match.Matches(r) {
		t.Error("the method must affect only the method condition")
	}
}
