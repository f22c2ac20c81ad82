package fleet

import (
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// Endpoint is an API server to which requests can be passed on.
type Endpoint struct {
	// URL has the scheme, the host and a path prefix.
	URL *url.URL
	// Transport authenticates requests. It has no timeout, because watches and logs are long.
	Transport http.RoundTripper
	// Upgrade is for requests that change the protocol, such as exec.
	Upgrade proxy.UpgradeRequestRoundTripper
}

// NewEndpoint returns the endpoint of a configuration.
func NewEndpoint(config *rest.Config) (*Endpoint, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address %q of the API server: %w", config.Host, err)
	}
	authenticated, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", host, err)
	}
	settings, err := config.TransportConfig()
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", host, err)
	}
	headers, err := transport.HTTPWrappersForConfig(settings, proxy.MirrorRequest)
	if err != nil {
		return nil, fmt.Errorf("connection to %s: %w", host, err)
	}
	return &Endpoint{URL: host, Transport: authenticated, Upgrade: proxy.NewUpgradeRequestRoundTripper(authenticated, headers)}, nil
}

// Do sends a request. It does not follow redirects, which would show credentials to other servers.
func (e *Endpoint) Do(r *http.Request) (*http.Response, error) { return e.Transport.RoundTrip(r) }
