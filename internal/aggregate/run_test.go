package aggregate

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"anymesh.dev/anymesh/internal/serverlimit"
	"anymesh.dev/anymesh/test/poll"
)

// run serves the lab as Run does until the context ends, and returns a channel with the result.
func (l *lab) run(ctx context.Context) <-chan error {
	l.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	server, listen := l.httpServer(l.t.Context())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listen(listener)) }()
	l.url = "http://" + listener.Addr().String()
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ended <- l.drain(server, failed)
	}()
	return ended
}

// TestShutdownServesUntilServicesNotice guards clients during a rolling update: the server serves while it is not
// ready, then a watch ends with a bookmark and without an error, from which the client resumes at another replica.
func TestShutdownServesUntilServicesNotice(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "p")
	l.config.ShutdownDelay = 700 * time.Millisecond
	version := l.listVersion()
	other := l.url
	ctx, cancel := context.WithCancel(t.Context())
	ended := l.run(ctx)
	next := l.watch("allowWatchBookmarks=true&resourceVersion=" + version)
	cancel()
	poll.Until(t, "readyz fails", func() bool { code, _ := l.ready(); return code == http.StatusServiceUnavailable })
	select {
	case err := <-ended:
		t.Fatal("the server ended at once", err)
	default:
	}
	l.wants(http.StatusOK, `"name":"p"`, http.MethodGet, podPath, "", "")
	l.put(0, "q")
	if kind, o, _ := next(); kind != "ADDED" || o.Name != "q" {
		t.Errorf("%s %s", kind, o.Name)
	}
	last := ""
	for kind, o, _ := next(); kind != "END"; kind, o, _ = next() { // and not BROKEN
		if kind != "BOOKMARK" {
			t.Errorf("%s %s", kind, o.Name)
		}
		last = o.ResourceVersion
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	l.url = other
	if now := l.listVersion(); last != now {
		t.Errorf("the last bookmark has %s, want %s", last, now)
	}
}

// A request whose header is too long gets status 431, and is counted.
func TestLongHeaderIsCounted(t *testing.T) {
	l := newLab(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := l.run(ctx)
	address := strings.TrimPrefix(l.url, "http://")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// net/http tolerates 4 KiB more.
	request := "GET /livez HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", MaxHeaderBytes+8<<10)
	if _, err := io.WriteString(c, request); err != nil {
		t.Log(err) // the server does not read the rest
	}
	poll.Until(t, "the header is counted", func() bool {
		return testutil.ToFloat64(l.metrics.refused.WithLabelValues(string(serverlimit.Long))) == 1
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
