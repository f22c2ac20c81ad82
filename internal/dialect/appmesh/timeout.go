package appmesh

import (
	"math"
	"time"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// App Mesh's timeouts where none is stated, on routes and on listeners alike.
const (
	defaultRequestTimeout = model.Duration(15 * time.Second)
	defaultIdleTimeout    = model.Duration(300 * time.Second)
)

// requestTimeouts gives the timeouts of a hop that carries requests. A duration of 0 means "no limit", an absent one
// the default.
func requestTimeouts(t *api.HTTPTimeout) model.Timeouts {
	out := model.Timeouts{Request: defaultRequestTimeout, Idle: defaultIdleTimeout}
	if t != nil && t.PerRequest != nil {
		out.Request = duration(*t.PerRequest)
	}
	if t != nil && t.Idle != nil {
		out.Idle = duration(*t.Idle)
	}
	return out
}

// streamTimeouts gives the timeouts of a hop that carries plain streams, which know no request.
func streamTimeouts(t *api.TCPTimeout) model.Timeouts {
	if t != nil && t.Idle != nil {
		return model.Timeouts{Idle: duration(*t.Idle)}
	}
	return model.Timeouts{Idle: defaultIdleTimeout}
}

// duration gives a length of time, at least 0 and at most the longest that there is.
func duration(d api.Duration) model.Duration {
	unit := time.Second
	if d.Unit == api.DurationMilliseconds {
		unit = time.Millisecond
	}
	switch {
	case d.Value < 0:
		return 0
	case d.Value > math.MaxInt64/int64(unit):
		return math.MaxInt64
	}
	return model.Duration(time.Duration(d.Value) * unit)
}
