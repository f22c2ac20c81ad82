package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/test/freeport"
)

// A new listener takes the socket of one that is removed by the same change, whatever their protocols are. If the
// change is refused, the old one goes on.
func TestNewListenerTakesSocket(t *testing.T) {
	port, file, other := freeport.Port(t), filepath.Join(t.TempDir(), "a.sock"), freeport.Port(t)
	p := proxy.New(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	parse := func(text string) *config.Config {
		t.Helper()
		value, err := config.ParseYAML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c := new(config.Config)
		if err := config.Decode("", value, c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	const rules = "rules: [{action: {route: {destination: {spec: {protocol: Echo}}}}}]"
	specs := map[string]string{
		"web":    fmt.Sprintf("{protocol: HTTP, port: %d, address: 127.0.0.1}", port),
		"stream": fmt.Sprintf("{protocol: TCP, port: %d, address: 127.0.0.1}", port),
		"socket": fmt.Sprintf("{protocol: WebSocket, port: %d, address: 127.0.0.1}", port),
		"unix-1": fmt.Sprintf("{protocol: UnixDomainSocket, filename: %s}", file),
		"unix-2": fmt.Sprintf("{protocol: UnixDomainSocket, filename: %s}", file),
		"udp":    fmt.Sprintf("{protocol: UDP, port: %d}", port),
		"json":   fmt.Sprintf("{protocol: JSONSocket, transport: {protocol: UDP, port: %d}}", port),
	}
	listeners := func(names ...string) *config.Config {
		text := "listeners:\n"
		for _, name := range names {
			text += fmt.Sprintf("- {name: %s, spec: %s, %s}\n", name, specs[name], rules)
		}
		return parse(text)
	}
	echoes := func() {
		t.Helper()
		c := dial(t, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		_, _ = io.WriteString(c, "hello")
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, []byte("hello")) {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := p.Patch(listeners("web", "unix-1", "udp"), proxy.Removed{}); err != nil {
		t.Fatal(err)
	}
	removed := proxy.Removed{Listeners: []string{"web", "unix-1", "udp"}}
	if err := p.Patch(listeners("stream", "unix-2", "json"), removed); err != nil {
		t.Fatal(err)
	}
	echoes()

	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", other))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	specs["taken"] = fmt.Sprintf("{protocol: TCP, port: %d, address: 127.0.0.1}", other)
	if err := p.Patch(listeners("socket", "taken"), proxy.Removed{Listeners: []string{"stream"}}); err == nil {
		t.Error("a listener on a port that is taken is accepted")
	}
	echoes()
	if err := p.Replace(listeners("web")); err != nil {
		t.Error(err)
	}
}

// A session over UDP leaves an endpoint that its cluster no longer has: with retries for another one, without them it
// ends, and the next packet begins a new one. An endpoint that only has another weight stays.
func TestSessionsLeaveRemovedEndpoints(t *testing.T) {
	server := func(address string, port int, name string) int {
		c, err := net.ListenPacket("udp", fmt.Sprintf("%s:%d", address, port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		go func() {
			packet := make([]byte, 100)
			for {
				_, from, err := c.ReadFrom(packet)
				if err != nil {
					return
				}
				_, _ = c.WriteTo([]byte(name+" "+from.String()), from)
			}
		}()
		return c.LocalAddr().(*net.UDPAddr).Port
	}
	port := server("127.0.0.1", 0, "one")
	server("127.0.0.2", port, "two")
	for _, retry := range []string{"{retry_on: always, num_retries: 3, timeout: 100}", "{retry_on: never}"} {
		p := proxy.New(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
		in := freeport.Port(t)
		apply := func(endpoints string) {
			t.Helper()
			value, err := config.ParseYAML(fmt.Appendf(nil, `
listeners: [{name: in, spec: {protocol: UDP, port: %d}, rules: [{action: {route: {destination: up, retry: %s}}}]}]
clusters: [{name: up, spec: {protocol: UDP, port: %d}, endpoints: [%s]}]
`, in, retry, port, endpoints))
			if err != nil {
				t.Fatal(err)
			}
			c := new(config.Config)
			if err := config.Decode("", value, c); err != nil {
				t.Fatal(err)
			}
			if err := p.Replace(c); err != nil {
				t.Fatal(err)
			}
		}
		apply("{spec: {address: 127.0.0.1}}")
		c := dial(t, "udp", fmt.Sprintf("127.0.0.1:%d", in))
		says := func() string {
			_, _ = io.WriteString(c, "hello")
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			packet := make([]byte, 100)
			n, _ := c.Read(packet)
			return string(packet[:n])
		}
		var before string
		until(t, "an answer of the first server", func() bool {
			before = says()
			return strings.HasPrefix(before, "one")
		})
		apply("{spec: {address: 127.0.0.1}, weight: 5}, {spec: {address: 127.0.0.2}, weight: 0}")
		if now := says(); now != before {
			t.Errorf("got %q after a change of a weight, want %q", now, before)
		}
		apply("{spec: {address: 127.0.0.2}}")
		until(t, "an answer of the other server", func() bool { return strings.HasPrefix(says(), "two") })
	}
}
