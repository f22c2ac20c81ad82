package explain

import (
	"testing"
	"time"

	"anymesh.dev/anymesh/model"
)

// TestLimits checks which timeout of both sidecars ends a request.
func TestLimits(t *testing.T) {
	const s = model.Duration(time.Second)
	route := func(request, idle model.Duration, r model.Retry) model.Decision {
		return model.Decision{Timeouts: model.Timeouts{Request: request, Idle: idle}, Retry: r}
	}
	listener := func(request, idle model.Duration) *model.Decision {
		return &model.Decision{Timeouts: model.Timeouts{Request: request, Idle: idle}}
	}
	try := func(n uint32, limit model.Duration, statuses ...uint16) model.Retry {
		return model.Retry{
			Retries: n, PerTry: limit, StatusCodes: statuses, Conditions: []model.RetryCondition{model.RetryReset},
		}
	}
	for name, c := range map[string]struct {
		route                     model.Decision
		listener                  *model.Decision
		request, idle, unanswered model.Duration
		attempts                  uint32
	}{
		"the route is shorter":          {route(5*s, 9*s, model.Retry{}), listener(7*s, 0), 5 * s, 9 * s, 5 * s, 1},
		"the listener is shorter":       {route(60*s, 9*s, model.Retry{}), listener(7*s, 8*s), 7 * s, 8 * s, 7 * s, 1},
		"no limit of the route":         {route(0, 0, model.Retry{}), listener(7*s, 8*s), 7 * s, 8 * s, 7 * s, 1},
		"no sidecar":                    {route(5*s, 9*s, model.Retry{}), nil, 5 * s, 9 * s, 5 * s, 1},
		"no limit":                      {route(0, 0, model.Retry{}), nil, 0, 0, 0, 1},
		"the idle timeout":              {route(15*s, 2*s, model.Retry{}), listener(15*s, 0), 15 * s, 2 * s, 2 * s, 1},
		"504 is retried":                {route(60*s, 0, try(2, 0, 504)), listener(7*s, 0), 21 * s, 0, 21 * s, 3},
		"504 is retried until the end":  {route(10*s, 0, try(2, 0, 504)), listener(7*s, 0), 10 * s, 0, 10 * s, 2},
		"504 is not retried":            {route(60*s, 0, try(2, 0, 503)), listener(7*s, 0), 7 * s, 0, 7 * s, 1},
		"each try has a limit":          {route(60*s, 0, try(2, 3*s)), listener(15*s, 0), 15 * s, 0, 9 * s, 3},
		"a limit of each try, no retry": {route(60*s, 0, try(0, 3*s)), nil, 60 * s, 0, 60 * s, 1},
	} {
		t.Run(name, func(t *testing.T) {
			want := Limits{model.Timeouts{Request: c.request, Idle: c.idle}, c.unanswered, c.attempts}
			if got := limitsOf(c.route, c.listener, model.HTTP); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
	stream := limitsOf(route(0, 9*s, model.Retry{}), listener(0, 8*s), model.TCP)
	if stream.Idle != 8*s || stream.Unanswered != 8*s {
		t.Errorf("a stream has the limits %+v", stream)
	}
}
