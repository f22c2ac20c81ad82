package proxy_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
)

// http2Server returns the port of a server with HTTP/2 and HTTP/1.1, without TLS.
func http2Server(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h2c.NewHandler(h, &http2.Server{}))
	t.Cleanup(s.Close)
	return portOf(s.Listener.Addr())
}

// http2Client returns a client that uses HTTP/2 without TLS.
func http2Client(t testing.TB) *http.Client {
	connect := func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	transport := &http2.Transport{AllowHTTP: true, DialTLSContext: connect}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: patience, Transport: transport}
}

const http2Config = `
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}
  rules:
  - match: {op: test, path: /HTTP/headers/x-up, value: "1"}
    action: {route: {destination: one}}
  - match: {op: test, path: /HTTP/headers/x-up, value: "2"}
    action: {route: {destination: two}}
  - match: {op: test, path: /HTTP/version, value: "2.0"}
    action: {route: {destination: {spec: {protocol: Echo}}}}
clusters:
- {name: one, spec: {protocol: HTTP, port: %[1]s}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: two, spec: {protocol: HTTP, port: %[1]s, http2: true}, endpoints: [{spec: {address: 127.0.0.1}}]}
`

// versions runs a test for each pair of versions of the client and the endpoint.
func versions(t *testing.T, h http.HandlerFunc, test func(t *testing.T, client *http.Client, url, up string)) {
	url := "http://" + start(t, fmt.Sprintf(http2Config, http2Server(t, h)), "IN")["IN"]
	for in, client := range map[string]*http.Client{"1": {Timeout: patience}, "2": http2Client(t)} {
		for _, up := range []string{"1", "2"} {
			t.Run("HTTP/"+in+" to HTTP/"+up, func(t *testing.T) { test(t, client, url, up) })
		}
	}
}

// Bodies of all sizes and framings, and trailers, pass between both versions, in both directions.
func TestHTTPBodies(t *testing.T) {
	versions(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("X-Proto", r.Proto)
		w.Header().Set("X-Method", r.Method)
		if r.Header.Get("X-Sized") != "" {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		}
		_, _ = w.Write(body)
		w.Header().Set("X-Sum", fmt.Sprint(len(body), r.Trailer.Get("X-End")))
	}, func(t *testing.T, client *http.Client, url, up string) {
		for _, size := range []int{0, 1, 1000, 16 << 10, 40 << 10, 300 << 10, 3 << 20} {
			for _, field := range []string{"X-Sized: 1", "X-Other: 1"} {
				sent := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
				for _, body := range []io.Reader{bytes.NewReader(sent), struct{ io.Reader }{bytes.NewReader(sent)}} {
					testBody(t, client, request(t, "POST", url+"/a?b", body, "X-Up: "+up, field), sent, up)
				}
			}
		}
		response, err := client.Do(request(t, "HEAD", url, nil, "X-Up: "+up))
		if err != nil || response.StatusCode != 200 || response.Header.Get("X-Method") != "HEAD" {
			t.Fatal(response, err)
		}
		_ = response.Body.Close()
	})
}

// testBody sends a request to a server that answers with its body and with trailers.
func testBody(t *testing.T, client *http.Client, r *http.Request, sent []byte, up string) {
	t.Helper()
	end := ""
	if r.ContentLength <= 0 && len(sent) > 0 {
		r.Trailer, end = http.Header{"X-End": {"!"}}, "!" // only chunks have trailers
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Equal(got, sent) || response.Header.Get("X-Proto")[5:6] != up {
		t.Errorf("%d bytes: got status %d and %d bytes by %s, error %v", len(sent), response.StatusCode, len(got), response.Header.Get("X-Proto"), err)
	}
	if sum := response.Trailer.Get("X-Sum"); r.Header.Get("X-Sized") == "" && sum != fmt.Sprint(len(sent), end) {
		t.Errorf("%d bytes: got trailer %q", len(sent), sum)
	}
}

// A request and its response move at the same time; streams of HTTP/2 share a connection.
func TestHTTPFullDuplex(t *testing.T) {
	versions(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		_ = c.Flush()
		b := make([]byte, 100)
		for {
			n, err := r.Body.Read(b)
			_, _ = w.Write(b[:n])
			_ = c.Flush()
			if err != nil {
				return
			}
		}
	}, func(t *testing.T, client *http.Client, url, up string) {
		for range 5 {
			in, out := io.Pipe()
			response, err := client.Do(request(t, "POST", url, in, "X-Up: "+up))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			for i := range 10 {
				text := fmt.Sprint(i)
				_, _ = io.WriteString(out, text)
				b := make([]byte, len(text))
				if _, err := io.ReadFull(response.Body, b); err != nil || string(b) != text {
					t.Fatalf("got %q, error %v", b, err)
				}
			}
			_ = out.Close()
			if rest, err := io.ReadAll(response.Body); len(rest) > 0 || err != nil {
				t.Errorf("got %q, error %v", rest, err)
			}
		}
	})
}

// Rules see the version; sessions of other protocols serve streams, too.
func TestHTTP2Sessions(t *testing.T) {
	url := "http://" + start(t, fmt.Sprintf(http2Config, "1"), "IN")["IN"]
	client := http2Client(t)
	for range 5 {
		response, err := client.Post(url+"/x", "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if string(body) != "hello" || err != nil {
			t.Errorf("got %d %q, error %v", response.StatusCode, body, err)
		}
	}
	response, err := client.Get(url + "/a/../b")
	if err != nil || response.StatusCode != 400 {
		t.Errorf("a path with dot segments: got %v, error %v", response, err)
	}
}

// With TLS, both sides choose HTTP/2 if the peer has it.
func TestHTTP2TLS(t *testing.T) {
	dir := t.TempDir()
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(writeCertificate(t, dir, "localhost"))
	certificate, err := tls.LoadX509KeyPair(dir+"/cert.pem", dir+"/key.pem")
	if err != nil {
		t.Fatal(err)
	}
	for _, up := range []string{"HTTP/2.0", "HTTP/1.1"} {
		answer := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }
		s := httptest.NewUnstartedServer(http.HandlerFunc(answer))
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		s.EnableHTTP2 = up == "HTTP/2.0"
		s.StartTLS()
		t.Cleanup(s.Close)
		at := start(t, strings.ReplaceAll(fmt.Sprintf(`
listeners:
- name: in
  spec: {protocol: HTTP, port: $IN, address: 127.0.0.1, tls: {certificate: DIR/cert.pem, key: DIR/key.pem}}
  rules: [{action: {route: {destination: up}}}]
clusters:
- {name: up, spec: {protocol: HTTP, port: %s, http2: true, tls: {ca: DIR/cert.pem}}, endpoints: [{spec: {address: 127.0.0.1}}]}
`, portOf(s.Listener.Addr())), "DIR", dir), "IN")
		client := &http.Client{Timeout: patience, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: authority}, ForceAttemptHTTP2: true,
		}}
		for range 3 {
			response, err := client.Get("https://" + at["IN"])
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(response.Body); string(body) != up || response.Proto != "HTTP/2.0" {
				t.Errorf("got %q over %s, want %s over HTTP/2.0", body, response.Proto, up)
			}
			_ = response.Body.Close()
		}
		client.CloseIdleConnections()
	}
}
