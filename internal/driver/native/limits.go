package native

import (
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
)

// limits returns what a client opens to a destination at a time. Streams do not wait.
func limits(of *model.ConnectionLimits) config.Limits {
	if of == nil {
		return config.Limits{}
	}
	return config.Limits{
		Requests: number(of.MaxRequests), Retries: number(of.MaxRetries), Connections: number(of.MaxConnections),
		Waiting: number(of.MaxPending), RequestsPerConnection: number(of.MaxRequestsPerConnection),
		ConnectTimeout: milliseconds(of.ConnectTimeout),
	}
}

// breaker returns what a listener forwards to the application at a time.
func breaker(of *model.CircuitBreaker) config.Limits {
	if of == nil {
		return config.Limits{}
	}
	return config.Limits{
		Requests: number(of.MaxRequests), Connections: number(of.MaxConnections), Waiting: number(of.MaxPending),
	}
}

// rate returns a rate limit; nil for none.
func rate(of *model.RateLimit) *config.Rate {
	if of == nil {
		return nil
	}
	return &config.Rate{
		Count: max(1, number(of.Count)), Burst: number(of.Burst), Interval: max(1, milliseconds(of.Interval)),
	}
}

// requestRate returns the limit of a route.
func requestRate(of model.RequestRate) *config.RequestRate {
	out := &config.RequestRate{Limit: *rate(&of.Limit), Status: int(of.StatusCode)}
	for _, h := range of.Headers {
		out.Headers = append(out.Headers, config.ResponseHeader{Name: h.Name, Value: h.Value})
	}
	return out
}

// number returns a limit in the range of the proxy.
func number(n uint32) int { return int(min(n, maxWeight)) }
