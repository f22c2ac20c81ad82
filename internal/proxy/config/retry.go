package config

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Retry says when and how often a connection of a session is tried again.
type Retry struct {
	// RetryOn is never, connect-failure, disconnect or always. Default: never.
	RetryOn RetryOn `json:"retry_on,omitempty"`
	// NumRetries is the number of retries after the first attempt, from 0 to 1000000. Default: 1.
	NumRetries *int `json:"num_retries,omitempty"`
	// Timeout limits an attempt to connect, and is the pause before the next one, in milliseconds. Default: 2000.
	Timeout *int `json:"timeout,omitempty"`
	// Backoff replaces the pause: it is the first one, in milliseconds. Each further one is twice as long, up to ten times
	// the first. A random part of up to a half is subtracted.
	Backoff *int `json:"backoff,omitempty"`
	// OtherCluster makes each retry choose among the destinations of the route again, by their weights. By default,
	// retries stay with the cluster of the first attempt. An HTTP request is only sent to other clusters of protocol HTTP.
	OtherCluster bool `json:"other_cluster,omitempty"`
	// Statuses are those of HTTP responses after which a request is sent again, whatever retry_on and the method are. Only
	// requests of up to 16 KiB are sent again.
	Statuses []int `json:"statuses,omitempty"`
	// Reset makes requests with any method be sent again after a failed connection, after the endpoint has ended the
	// connection or the stream without a response, and after the timeout of an attempt. The limit is as with statuses.
	Reset bool `json:"reset,omitempty"`
	// Exact makes a request be sent again by these rules only. By default, requests with an idempotent method that were
	// sent on an idle connection, which the endpoint closed then, are sent again at once.
	Exact bool `json:"exact,omitempty"`
	// GRPCStatuses are those of gRPC, of calls that fail without a message, as statuses.
	GRPCStatuses []int `json:"grpc_statuses,omitempty"`
}

// RetryOn is the condition of a retry.
type RetryOn string

// The conditions of retries.
const (
	RetryNever          RetryOn = "never"
	RetryConnectFailure RetryOn = "connect-failure"
	RetryDisconnect     RetryOn = "disconnect"
	RetryAlways         RetryOn = "always"
)

// Connect reports whether failed connection attempts are retried.
func (r Retry) Connect() bool {
	return r.Reset || r.RetryOn == RetryConnectFailure || r.RetryOn == RetryAlways
}

// Disconnect reports whether connections that ended are established again.
func (r Retry) Disconnect() bool { return r.RetryOn == RetryDisconnect || r.RetryOn == RetryAlways }

// Retries returns the number of retries.
func (r Retry) Retries() int {
	if r.NumRetries == nil {
		return 1
	}
	return *r.NumRetries
}

// Pause returns the limit of an attempt, which is also the pause after it.
func (r Retry) Pause() time.Duration {
	if r.Timeout == nil {
		return 2 * time.Second
	}
	return time.Duration(*r.Timeout) * time.Millisecond
}

// Wait returns the pause before a further attempt, which are counted from 1.
func (r Retry) Wait(attempt int) time.Duration {
	if r.Backoff == nil {
		return r.Pause()
	}
	first := time.Duration(*r.Backoff) * time.Millisecond
	longest := min(first<<min(attempt-1, 4), 10*first)
	return longest - time.Duration(rand.Float64()*float64(longest)/2)
}

// Timeouts limit requests and sessions, in milliseconds, from 0 to 1000000000; 0 is no limit.
type Timeouts struct {
	// Request limits an HTTP request from its head to the end of its response, over all attempts. Default: 0.
	Request int `json:"request,omitempty"`
	// Attempt limits one attempt of an HTTP request, to the head of the response. Default: 0.
	Attempt int `json:"attempt,omitempty"`
	// Idle ends an HTTP request or a session in which nothing moves. Default: 300000 for HTTP requests, 0 for sessions.
	Idle *int `json:"idle,omitempty"`
}

func (r *Retry) check(map[string]bool) error {
	all := []RetryOn{"", RetryNever, RetryConnectFailure, RetryDisconnect, RetryAlways}
	if !slices.Contains(all, r.RetryOn) {
		return fmt.Errorf("retry_on: %q is none of never, connect-failure, disconnect and always", r.RetryOn)
	}
	if n := r.Retries(); n < 0 || n > 1e6 {
		return fmt.Errorf("num_retries: must be from 0 to 1000000, is %d", n)
	}
	if t := r.Pause(); t < 0 || r.Timeout != nil && *r.Timeout > 1e9 {
		return errors.New("timeout: must be from 0 to 1000000000 milliseconds")
	}
	if r.Backoff != nil && !isTime(*r.Backoff) {
		return errors.New("backoff: must be from 0 to 1000000000 milliseconds")
	}
	for _, s := range r.Statuses {
		if s < 400 || s > 599 {
			return fmt.Errorf("statuses: must be from 400 to 599, one is %d", s)
		}
	}
	for _, s := range r.GRPCStatuses {
		if s < 1 || s > 16 {
			return fmt.Errorf("grpc_statuses: must be from 1 to 16, one is %d", s)
		}
	}
	return nil
}

// isTime reports whether a number of milliseconds is allowed.
func isTime(t int) bool { return t >= 0 && t <= 1e9 }

func (m *Mirror) check(set map[string]bool) error {
	if !set["destination"] {
		return errors.New("destination: is required")
	}
	if m.Percent != nil && (*m.Percent < 0 || *m.Percent > 100) {
		return errors.New("percent: must be from 0 to 100")
	}
	return nil
}

func (t *Timeouts) check(map[string]bool) error {
	if !isTime(t.Request) || !isTime(t.Attempt) || t.Idle != nil && !isTime(*t.Idle) {
		return errors.New("request: request, attempt and idle must be from 0 to 1000000000 milliseconds")
	}
	return nil
}
