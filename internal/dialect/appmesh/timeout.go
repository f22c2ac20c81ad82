package appmesh

import (
	"math"
	"time"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// Default timeouts of App Mesh for routes and listeners.
const (
	defaultRequestTimeout = model.Duration(15 * time.Second)
	defaultIdleTimeout    = model.Duration(300 * time.Second)
)

// requestTimeouts returns the timeouts for requests. A duration of 0 means no limit, an absent one the default.
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

// streamTimeouts returns the timeouts for TCP connections.
func streamTimeouts(t *api.TCPTimeout) model.Timeouts {
	if t != nil && t.Idle != nil {
		return model.Timeouts{Idle: duration(*t.Idle)}
	}
	return model.Timeouts{Idle: defaultIdleTimeout}
}

// duration converts a duration. The result is limited to the range from 0 to the longest duration.
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
