package config

import (
	"errors"
	"net/url"
)

// Tracing sends a span of OpenTelemetry for each HTTP request, and passes the trace context of W3C on.
type Tracing struct {
	// Endpoint is the URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318. Default of its path:
	// /v1/traces.
	Endpoint string `json:"endpoint"`
	// Percent is the share of requests that are traced, of those whose client has not decided it, from 0 to 100. Default:
	// 100. If the traceparent of a request says whether its trace is sampled, that is kept.
	Percent *int `json:"percent,omitempty"`
	// Service is the name of the service in spans. Default: anymesh-proxy.
	Service string `json:"service,omitempty"`
}

// URL returns the URL of the collector.
func (t *Tracing) URL() string {
	u, err := url.Parse(t.Endpoint)
	if err != nil {
		return t.Endpoint // decoding refuses it
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String()
}

// Share returns the percentage of requests that are traced.
func (t *Tracing) Share() int {
	if t.Percent == nil {
		return 100
	}
	return *t.Percent
}

// ServiceName returns the name of the service.
func (t *Tracing) ServiceName() string {
	if t.Service == "" {
		return "anymesh-proxy"
	}
	return t.Service
}

func (t *Tracing) check(map[string]bool) error {
	u, err := url.Parse(t.Endpoint)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil:
		return errors.New("endpoint: must be a URL such as http://127.0.0.1:4318, without a user")
	case t.Share() < 0 || t.Share() > 100:
		return errors.New("percent: must be from 0 to 100")
	}
	return nil
}
