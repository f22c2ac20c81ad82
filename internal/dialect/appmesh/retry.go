package appmesh

import (
	"math"
	"slices"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// statusCodes are the status codes of the retry events, as in App Mesh. They are not complete classes: server-error
// excludes 509, and client-error is 409 only.
var statusCodes = map[api.HTTPRetryEvent][]uint16{
	api.RetryServerError:  {500, 501, 502, 503, 504, 505, 506, 507, 508, 510, 511},
	api.RetryGatewayError: {502, 503, 504},
	api.RetryClientError:  {409},
}

var grpcConditions = map[api.GRPCRetryEvent]model.RetryCondition{
	api.RetryCancelled:         model.RetryGRPCCanceled,
	api.RetryDeadlineExceeded:  model.RetryGRPCDeadlineExceeded,
	api.RetryInternal:          model.RetryGRPCInternal,
	api.RetryResourceExhausted: model.RetryGRPCResourceExhausted,
	api.RetryUnavailable:       model.RetryGRPCUnavailable,
}

// defaultRetry is the retry policy that App Mesh added to routes without one. Routes share its lists.
var defaultRetry = model.Retry{
	Retries: 2,
	Conditions: []model.RetryCondition{
		// in canonical order
		model.RetryConnectFailure, model.RetryRefusedStream, model.RetryReset, model.RetryGRPCUnavailable,
	},
	StatusCodes:        []uint16{503},
	AvoidPreviousHosts: true,
}

func (s Settings) defaultRetry() model.Retry {
	if s.NoDefaultRetry {
		return model.Retry{}
	}
	return defaultRetry
}

func (s Settings) httpRetry(p *api.HTTPRetryPolicy) model.Retry {
	if p == nil {
		return s.defaultRetry()
	}
	return explicitRetry(api.GRPCRetryPolicy{
		HTTPRetryEvents: p.HTTPRetryEvents, TCPRetryEvents: p.TCPRetryEvents, MaxRetries: p.MaxRetries,
		PerRetryTimeout: p.PerRetryTimeout,
	})
}

func (s Settings) grpcRetry(p *api.GRPCRetryPolicy) model.Retry {
	if p == nil {
		return s.defaultRetry()
	}
	return explicitRetry(*p)
}

// explicitRetry returns the retries of a policy. A policy without retries returns the zero value, so that equal
// behavior has equal content.
func explicitRetry(p api.GRPCRetryPolicy) model.Retry {
	if p.MaxRetries <= 0 {
		return model.Retry{}
	}
	r := model.Retry{
		Retries:    uint32(min(p.MaxRetries, math.MaxUint32)),
		PerTry:     duration(p.PerRetryTimeout),
		Conditions: []model.RetryCondition{model.RetryReset}, // App Mesh always retries resets
	}
	for _, e := range p.HTTPRetryEvents {
		r.StatusCodes = append(r.StatusCodes, statusCodes[e]...)
		if e == api.RetryStreamError {
			r.Conditions = append(r.Conditions, model.RetryRefusedStream)
		}
	}
	for _, e := range p.TCPRetryEvents {
		if e == api.RetryConnectionError {
			r.Conditions = append(r.Conditions, model.RetryConnectFailure)
		}
	}
	for _, e := range p.GRPCRetryEvents {
		if condition, known := grpcConditions[e]; known {
			r.Conditions = append(r.Conditions, condition)
		}
	}
	slices.Sort(r.Conditions)
	slices.Sort(r.StatusCodes)
	r.Conditions, r.StatusCodes = slices.Compact(r.Conditions), slices.Compact(r.StatusCodes)
	return r
}
