package controlplane

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/serverlimit"
	"anymesh.dev/anymesh/test/freeport"
	"anymesh.dev/anymesh/test/poll"
)

// Requests whose header is too long, or not complete in time, are counted, with and without TLS.
func TestHeadersAreLimited(t *testing.T) {
	t.Parallel()
	ca, err := identity.NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := ca.IssueServingCertificate([]string{"anymesh.test"})
	if err != nil {
		t.Fatal(err)
	}
	cp := &controlPlane{
		Config:      Config{Log: slog.New(slog.DiscardHandler)},
		connections: newConnections(fullLimits(), prometheus.NewRegistry()),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	servers := map[string]*tls.Config{"metrics": nil, "signing": serving.TLSConfig()}
	for server, config := range servers {
		address := freeport.Address(t)
		go func() {
			ended <- cp.serve(ctx, server, address, cp.connections.limit(server), http.NotFoundHandler(), config)
		}()
		for _, header := range []string{"X: ", "X: " + strings.Repeat("a", MaxHeaderBytes+8<<10)} {
			var c net.Conn
			poll.Until(t, "a connection", func() bool {
				c, err = net.Dial("tcp", address)
				return err == nil
			})
			t.Cleanup(func() { _ = c.Close() })
			if config != nil {
				c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
			}
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n"+header); err != nil {
				t.Log(err) // the server does not read the rest
			}
		}
	}
	for server := range servers {
		for _, reason := range []serverlimit.Reason{serverlimit.Long, serverlimit.Slow} {
			poll.Until(t, server+" "+string(reason), func() bool {
				return testutil.ToFloat64(cp.connections.refused.WithLabelValues(server, string(reason))) == 1
			})
		}
	}
	cancel()
	for range servers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
