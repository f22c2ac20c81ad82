package fleet

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

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
	authenticated, err := transportFor(config, pings)
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

// pings find connections that are open at this end only, such as those through a firewall that was restarted, after
// 8 s without data. With the defaults of client-go, which are 45 s, requests of users would wait for as long.
var pings = http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 3 * time.Second}

// transportFor returns a transport that authenticates requests. Configurations whose credentials are read again, which
// are those of the control plane, have the transport of client-go.
func transportFor(config *rest.Config, pings http.HTTP2Config) (http.RoundTripper, error) {
	if config.CertFile != "" || config.CAFile != "" || config.ExecProvider != nil || config.AuthProvider != nil ||
		config.Transport != nil || config.Dial != nil {
		return rest.TransportFor(config)
	}
	settings, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	through := config.Proxy
	if through == nil {
		through = http.ProxyFromEnvironment
	}
	return rest.HTTPWrappersForConfig(config, &http.Transport{
		Proxy: through, TLSClientConfig: settings, ForceAttemptHTTP2: true, HTTP2: &pings,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 25, IdleConnTimeout: 90 * time.Second,
	})
}
