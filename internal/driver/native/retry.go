package native

import (
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/model"
)

// retryCauses are the failures of connections that are retried.
var retryCauses = map[model.RetryCondition]config.RetryOn{
	model.RetryConnectFailure: config.RetryConnectFailure, model.RetryDisconnect: config.RetryDisconnect,
}

// retryStatuses are the statuses of gRPC that are retried.
var retryStatuses = map[model.RetryCondition]int{
	model.RetryGRPCCanceled: 1, model.RetryGRPCDeadlineExceeded: 4, model.RetryGRPCResourceExhausted: 8,
	model.RetryGRPCInternal: 13, model.RetryGRPCUnavailable: 14,
}

// defaultBackoff is the longest time before the first retry of sidecars, in milliseconds.
const defaultBackoff = 25

// gatewayRetry returns the retries of pods whose applications speak to their proxy, and of gateways, with the pauses of
// l7mp.
func gatewayRetry(of model.Retry) config.Retry {
	if of.Retries == 0 {
		return config.Retry{}
	}
	out := conditions(of)
	if of.Pause > 0 {
		pause := milliseconds(of.Pause)
		out.Timeout = &pause
	}
	return out
}

// retry returns the retries of sidecars. The timeout limits each attempt to connect, in milliseconds. Requests are sent
// again only as the policy says.
func retry(of model.Retry, timeout int) config.Retry {
	out := conditions(of)
	out.Exact = true
	backoff := defaultBackoff
	if of.Backoff > 0 {
		backoff = milliseconds(of.Backoff)
	}
	if of.Pause > 0 {
		timeout = milliseconds(of.Pause)
	}
	out.Timeout = &timeout
	if of.Retries > 0 {
		out.Backoff = &backoff
	}
	return out
}

// conditions returns the number of retries and their conditions.
func conditions(of model.Retry) config.Retry {
	n := int(min(of.Retries, maxRetries))
	out := config.Retry{NumRetries: &n}
	if n == 0 {
		return out
	}
	for _, c := range of.Conditions {
		if status := retryStatuses[c]; status != 0 {
			out.GRPCStatuses = append(out.GRPCStatuses, status)
		}
		out.Reset = out.Reset || c == model.RetryReset
		switch on := retryCauses[c]; {
		case on == "" || on == out.RetryOn:
		case out.RetryOn == "":
			out.RetryOn = on
		default:
			out.RetryOn = config.RetryAlways
		}
	}
	for _, s := range of.StatusCodes {
		out.Statuses = append(out.Statuses, int(s))
	}
	return out
}

// maxRetries is the greatest number of retries of the proxy.
const maxRetries = 1_000_000

// explicitTimeouts returns timeouts of which none has a default.
func explicitTimeouts(of model.Action) config.Timeouts {
	out := timeouts(of)
	if out.Idle == nil {
		out.Idle = new(int)
	}
	return out
}
