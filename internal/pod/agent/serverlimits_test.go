package agent

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"anymesh.dev/anymesh/internal/serverlimit"
	"anymesh.dev/anymesh/test/poll"
)

// A client that does not read its response is disconnected, and counted.
func TestSlowReaderIsCut(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for block := bytes.Repeat([]byte("x"), 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	t.Cleanup(proxy.Close)
	a := &agent{
		Config:  Config{Logger: slog.New(slog.DiscardHandler), MetricsURL: proxy.URL},
		metrics: newMetrics(), client: localClient(),
	}
	a.phase.advance(running)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.serve(l))
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the client is counted", func() bool {
		return testutil.ToFloat64(a.metrics.refused.WithLabelValues(string(serverlimit.Unread))) == 1
	})
}

// Names that are requested beyond the limit are counted. Clients repeat their questions.
func TestRequestedNamesAreLimited(t *testing.T) {
	n := &names{agent: &agent{metrics: newMetrics()}, requested: make(chan string, MaxRequested)}
	for range MaxRequested + 2 {
		n.request("color.colors.svc.cluster.local")
	}
	got := testutil.ToFloat64(n.metrics.refused.WithLabelValues("names"))
	if got != 2 || len(n.requested) != MaxRequested {
		t.Errorf("%d names wait and %v are refused", len(n.requested), got)
	}
}

func TestScrapesAtOnce(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{})
	handler := limitScrapes(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-release
	}, func() {})
	scrape := func(source string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.RemoteAddr = source
		handler(w, r)
		return w.Code
	}
	for _, source := range []string{"10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1", "10.0.0.3:1", "10.0.0.4:1", "10.0.0.5:1", "10.0.0.6:1", "10.0.0.7:1"} {
		go scrape(source)
		<-begun
	}
	for _, source := range []string{"10.0.0.1:3", "10.0.0.8:1"} { // too many of the source, and of all
		if got := scrape(source); got != http.StatusTooManyRequests {
			t.Errorf("%s: status %d", source, got)
		}
	}
	close(release)
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		code := make(chan int, 1)
		go func() { code <- scrape("10.0.0.1:4") }()
		select {
		case <-begun:
			<-code
			return
		case <-code: // the others are not finished yet
		}
	}
	t.Error("slots are not released")
}

// Requests whose header is too long, or not complete in time, are counted.
func TestHeadersAreLimited(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{Config: Config{Logger: slog.New(slog.DiscardHandler)}, metrics: newMetrics()}
	t.Cleanup(a.serve(l))
	for _, header := range []string{"X: ", "X: " + strings.Repeat("a", MaxHeaderBytes+8<<10)} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, "GET /live HTTP/1.1\r\nHost: x\r\n"+header); err != nil {
			t.Log(err) // the server does not read the rest
		}
	}
	for _, reason := range []serverlimit.Reason{serverlimit.Long, serverlimit.Slow} {
		poll.Until(t, string(reason), func() bool {
			return testutil.ToFloat64(a.metrics.refused.WithLabelValues(string(reason))) == 1
		})
	}
}
