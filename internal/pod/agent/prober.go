package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// probeResult is an HTTP status for kubelet and a message.
type probeResult struct {
	status int
	text   string
	// responded is true if the application sent an HTTP response.
	responded bool
}

// maxProbeBody is how much of a response body is read, as in kubelet, in bytes.
const maxProbeBody = 10 << 10

// maxRedirects is the limit of kubelet, which is the default of net/http.
const maxRedirects = 10

func (a *agent) probe(ctx context.Context, p Probe, userAgent string) probeResult {
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	var err error
	switch {
	case p.HTTPGet != nil:
		return a.probeHTTP(ctx, p.HTTPGet, userAgent)
	case p.TCPSocket != nil:
		err = a.probeTCP(ctx, p.TCPSocket)
	default:
		err = a.probeGRPC(ctx, p.GRPC)
	}
	if err != nil {
		return probeResult{status: http.StatusServiceUnavailable, text: err.Error()}
	}
	return probeResult{status: http.StatusOK, text: "ok"}
}

// dial connects to the host of the probe, or to the pod: an application may listen on one address family only.
func (a *agent) dial(ctx context.Context, host string, port Port) (net.Conn, error) {
	hosts := a.ProbeHosts
	if host != "" {
		hosts = []string{host}
	}
	var all []error
	for _, h := range hosts {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(h, strconv.Itoa(int(port))))
		if err == nil {
			return conn, nil
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

func (a *agent) probeTCP(ctx context.Context, p *TCPSocket) error {
	conn, err := a.dial(ctx, p.Host, p.Port)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (a *agent) probeGRPC(ctx context.Context, p *GRPC) error {
	conn, err := grpc.NewClient("passthrough:///pod",
		grpc.WithTransportCredentials(insecure.NewCredentials()), // as in kubelet
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
			error) {
			return a.dial(ctx, "", p.Port)
		}),
	)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := grpc_health_v1.NewHealthClient(conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: p.Service})
	if err != nil {
		return err
	}
	if s := answer.GetStatus(); s != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("service %q is %s", p.Service, s)
	}
	return nil
}

// probeHTTP probes like kubelet: without certificate verification, and following redirects to the same host only. A
// redirect to another host is a success.
func (a *agent) probeHTTP(ctx context.Context, p *HTTPGet, userAgent string) probeResult {
	req, err := p.request(ctx, userAgent)
	if err != nil {
		return probeResult{status: http.StatusServiceUnavailable, text: err.Error()}
	}
	transport := &http.Transport{
		DisableKeepAlives:  true,
		DisableCompression: true,
		//nolint:gosec // a probe proves liveness, not identity
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(addr) // a redirect may change it
			if err != nil {
				return nil, err
			}
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil {
				return nil, err
			}
			return a.dial(ctx, p.Host, Port(n))
		},
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.URL.Hostname() != via[0].URL.Hostname() {
			return http.ErrUseLastResponse
		}
		if len(via) >= maxRedirects {
			return fmt.Errorf("stopped after %d redirects", maxRedirects)
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		return probeResult{status: http.StatusServiceUnavailable, text: err.Error()}
	}
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, maxProbeBody); err != nil && !errors.Is(err, io.EOF) {
		return probeResult{status: http.StatusServiceUnavailable, text: err.Error()}
	}
	status := resp.StatusCode
	if status >= 200 && status < 400 {
		status = http.StatusOK // kubelet must not follow the redirect again
	} else if status < 400 {
		status = http.StatusServiceUnavailable
	}
	return probeResult{status, resp.Status, true} // not the body: any pod can ask, and TLS may protect it
}

func (p *HTTPGet) request(ctx context.Context, userAgent string) (*http.Request, error) {
	host := p.Host
	if host == "" {
		host = "localhost" // dial selects the address
	}
	path := p.Path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, err
	}
	// The host is set separately: parsing it as part of the URL would lose the port after a "#".
	u.Scheme, u.Host = strings.ToLower(cmp.Or(p.Scheme, "HTTP")), net.JoinHostPort(host, strconv.Itoa(int(p.Port)))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return nil, err
	}
	req.URL, req.Host = u, u.Host
	req.Header.Set("Accept", "*/*")
	if userAgent != "" {
		req.Header.Set("User-Agent", userAgent)
	}
	for _, h := range p.HTTPHeaders {
		switch http.CanonicalHeaderKey(h.Name) {
		case "Host":
			req.Host = h.Value
		case "User-Agent", "Accept":
			req.Header.Set(h.Name, h.Value) // an empty value removes the default
		default:
			req.Header.Add(h.Name, h.Value)
		}
	}
	return req, nil
}
