package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// outcome is the result of a call. Error is set if there was no response.
type outcome struct {
	Status  int    `json:"status,omitempty"`
	Version string `json:"version,omitempty"`
	Body    string `json:"body,omitempty"`
	Error   string `json:"error,omitempty"`
}

// name returns the version that responded, or the error.
func (o outcome) name() string {
	switch {
	case o.Error != "":
		return "error: " + o.Error
	case o.Status != http.StatusOK:
		return "status " + strconv.Itoa(o.Status)
	}
	return o.Version
}

// maxBody limits the read part of a response body, in bytes.
const maxBody = 64 << 10

// serveCall calls ?url= with the method of its own request and with its headers that start with "X-Call-".
// ?network=tcp4 or tcp6 restricts the addresses of the target to a family. ?times=N repeats the call and returns the
// number of outcomes by version. The version of dns://NAME is the name with its addresses.
func (d *driver) serveCall(w http.ResponseWriter, r *http.Request) {
	target, err := url.Parse(r.URL.Query().Get("url"))
	if err != nil || target.Host == "" {
		http.Error(w, "give ?url=", http.StatusBadRequest)
		return
	}
	times, _ := strconv.Atoi(r.URL.Query().Get("times"))
	w.Header().Set("Content-Type", "application/json")
	if times <= 1 {
		network := cmp.Or(r.URL.Query().Get("network"), "tcp")
		_ = json.NewEncoder(w).Encode(d.try(newOneCallClient(network), network, r, target))
		return
	}
	_ = json.NewEncoder(w).Encode(d.repeat(r, target, times))
}

// repeat makes the calls with several concurrent callers.
func (d *driver) repeat(r *http.Request, target *url.URL, times int) map[string]int {
	const callers = 8
	var mu sync.Mutex
	var wait sync.WaitGroup
	counts := map[string]int{}
	work := make(chan struct{}, times)
	for range times {
		work <- struct{}{}
	}
	close(work)
	for range callers {
		wait.Go(func() {
			for range work {
				name := d.try(d.client, "tcp", r, target).name()
				mu.Lock()
				counts[name]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return counts
}

// newOneCallClient returns a client for one call, which uses the current routes. The network is that of net.Dialer.
func newOneCallClient(network string) *http.Client {
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return newClient(&http.Transport{
		DisableKeepAlives: true, DialContext: dial,
		// Tests ask who responds. The certificates of servers sign themselves.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec
	})
}

// try makes a call with the client, or, for a TCP service, over the network.
func (d *driver) try(client *http.Client, network string, r *http.Request, target *url.URL) outcome {
	if target.Scheme == "tcp" {
		name, err := greet(r.Context(), network, target.Host)
		if err != nil {
			return outcome{Error: err.Error()}
		}
		return outcome{Status: http.StatusOK, Version: name}
	}
	if target.Scheme == "dns" {
		addresses, err := (&net.Resolver{PreferGo: true}).LookupHost(r.Context(), target.Host)
		if err != nil {
			return outcome{Error: err.Error()}
		}
		slices.Sort(addresses)
		return outcome{Status: http.StatusOK, Version: target.Host + " " + strings.Join(addresses, " ")}
	}
	request, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), nil)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	for _, name := range traceHeaders {
		if values := r.Header.Values(name); len(values) > 0 {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	for name, values := range r.Header {
		if len(name) > len(callPrefix) && name[:len(callPrefix)] == callPrefix {
			request.Header[http.CanonicalHeaderKey(name[len(callPrefix):])] = values
		}
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := client.Do(request)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return outcome{Status: response.StatusCode, Error: err.Error()}
	}
	var said outcome                // that of a driver that was asked to call, or the version of a reply
	_ = json.Unmarshal(body, &said) // a response that is neither has no version
	if response.StatusCode == http.StatusOK && said.Version == "" && (said.Error != "" || said.Status != 0) {
		return outcome{Status: said.Status, Error: said.Error, Body: string(body)}
	}
	return outcome{Status: response.StatusCode, Version: said.Version, Body: string(body)}
}

// traceHeaders are copied from a request to the calls that it makes, so that their spans are one trace.
var traceHeaders = []string{
	"traceparent", "tracestate", "x-request-id", "x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid", "x-b3-sampled",
}

// callPrefix is the prefix of forwarded headers, in canonical form.
const callPrefix = "X-Call-"
