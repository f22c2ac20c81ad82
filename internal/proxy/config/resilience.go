package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// HealthCheck asks each endpoint again and again whether it works. An endpoint is not used before its first check; what
// goes to a new cluster waits for the first checks, up to 5 seconds.
type HealthCheck struct {
	// Protocol is TCP (the endpoint accepts connections), HTTP (it answers GET with one of the statuses) or gRPC (its
	// health service says SERVING). Default: HTTP if path is set, else TCP. With http2 in the cluster, HTTP uses HTTP/2.
	Protocol string `json:"protocol,omitempty"`
	// Path is the path of HTTP checks. Default: "/".
	Path string `json:"path,omitempty"`
	// Statuses are those with which HTTP checks pass. Default: 200 to 399.
	Statuses []int `json:"statuses,omitempty"`
	// Host is the host of HTTP and gRPC checks. Default: the address of the endpoint.
	Host string `json:"host,omitempty"`
	// Service is the name of the service that gRPC checks ask for. Default: none, which is the whole server.
	Service string `json:"service,omitempty"`
	// Port is another port than that of the endpoint.
	Port int `json:"port,omitempty"`
	// Interval is the time between checks, in milliseconds, from 10. Default: 5000.
	Interval int `json:"interval,omitempty"`
	// Timeout limits a check, in milliseconds. Default: 2000.
	Timeout int `json:"timeout,omitempty"`
	// Unhealthy is the number of failed checks in a row after which an endpoint is not used. Default: 2; the first check
	// alone decides.
	Unhealthy int `json:"unhealthy,omitempty"`
	// Healthy is the number of passed checks in a row after which it is used again. Default: 2.
	Healthy int `json:"healthy,omitempty"`
}

// Outlier ejects endpoints that fail: connections that cannot be made, and HTTP responses with a status of 500 or more.
type Outlier struct {
	// Failures is the number of failures in a row that ejects an endpoint. Default: 5.
	Failures int `json:"failures,omitempty"`
	// Time is how long it is ejected, in milliseconds, times the number of ejections in a row, up to ten. Default: 30000.
	Time int `json:"time,omitempty"`
	// MaxPercent limits the share of ejected endpoints; one can be ejected in any case. Default: 50.
	MaxPercent int `json:"max_percent,omitempty"`
}

// Limits bound the load of a cluster. What exceeds them fails at once, HTTP requests with the status 503. 0: no limit.
type Limits struct {
	// Requests is the number of requests and sessions at a time.
	Requests int `json:"requests,omitempty"`
	// Retries is the number of further attempts of HTTP requests at a time.
	Retries int `json:"retries,omitempty"`
	// Connections is the number of sessions, and of HTTP/1.1 requests that are sent, at a time. Further requests wait.
	Connections int `json:"connections,omitempty"`
	// Waiting is the number of HTTP/1.1 requests that wait.
	Waiting int `json:"waiting,omitempty"`
	// RequestsPerConnection is the number of requests after which an HTTP/1.1 connection is closed.
	RequestsPerConnection int `json:"requests_per_connection,omitempty"`
	// ConnectTimeout limits each attempt to connect, in milliseconds. Default: the timeout of the route's retry.
	ConnectTimeout int `json:"connect_timeout,omitempty"`
}

func orDefault(v, d int) int {
	if v == 0 {
		return d
	}
	return v
}

func milliseconds(v, d int) time.Duration { return time.Duration(orDefault(v, d)) * time.Millisecond }

// Kind returns the protocol.
func (h *HealthCheck) Kind() string {
	switch {
	case h.Protocol != "":
		return strings.ToUpper(h.Protocol)
	case h.Path != "":
		return "HTTP"
	}
	return "TCP"
}

// Passes reports whether a status passes an HTTP check.
func (h *HealthCheck) Passes(status int) bool {
	if len(h.Statuses) == 0 {
		return status >= 200 && status <= 399
	}
	return slices.Contains(h.Statuses, status)
}

// Every returns the time between checks.
func (h *HealthCheck) Every() time.Duration { return milliseconds(h.Interval, 5000) }

// Limit returns the limit of a check.
func (h *HealthCheck) Limit() time.Duration { return milliseconds(h.Timeout, 2000) }

// Thresholds returns the numbers of checks in a row.
func (h *HealthCheck) Thresholds() (healthy, unhealthy int) {
	return orDefault(h.Healthy, 2), orDefault(h.Unhealthy, 2)
}

func (h *HealthCheck) check(map[string]bool) error {
	switch {
	case !slices.Contains([]string{"TCP", "HTTP", "GRPC"}, h.Kind()):
		return fmt.Errorf("protocol: %q is none of TCP, HTTP and gRPC", h.Protocol)
	case h.Path != "" && (h.Kind() != "HTTP" || h.Path[0] != '/' || strings.ContainsAny(h.Path, " \t\r\n")):
		return errors.New("path: is the path of checks of the protocol HTTP")
	case len(h.Statuses) > 0 && h.Kind() != "HTTP":
		return errors.New("statuses: are those of checks of the protocol HTTP")
	case h.Host != "" && (h.Kind() == "TCP" || !isHost(h.Host)):
		return fmt.Errorf("host: %q is no host of checks of the protocols HTTP and gRPC", h.Host)
	case h.Service != "" && h.Kind() != "GRPC":
		return errors.New("service: is a field of checks of the protocol gRPC")
	case h.Interval != 0 && h.Interval < 10 || h.Interval > 1e9:
		return errors.New("interval: must be from 10 to 1000000000 milliseconds")
	case h.Timeout < 0 || h.Timeout > 1e9:
		return errors.New("timeout: must be from 1 to 1000000000 milliseconds")
	case h.Healthy < 0 || h.Unhealthy < 0:
		return errors.New("healthy: healthy and unhealthy must be positive")
	}
	return named("port", checkPort(h.Port, true))
}

// Values returns the values with their defaults.
func (o *Outlier) Values() (failures int, ejection time.Duration, maxPercent int) {
	return orDefault(o.Failures, 5), milliseconds(o.Time, 30_000), orDefault(o.MaxPercent, 50)
}

func (o *Outlier) check(map[string]bool) error {
	switch {
	case o.Failures < 0:
		return errors.New("failures: must be positive")
	case o.Time < 0 || o.Time > 1e9:
		return errors.New("time: must be from 1 to 1000000000 milliseconds")
	case o.MaxPercent < 0 || o.MaxPercent > 100:
		return errors.New("max_percent: must be from 1 to 100")
	}
	return nil
}

func (l *Limits) check(map[string]bool) error {
	if min(l.Requests, l.Retries, l.Connections, l.Waiting, l.RequestsPerConnection, l.ConnectTimeout) < 0 {
		return errors.New("requests: limits must not be negative")
	}
	return nil
}
