package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// A new listener takes the socket of one that is removed by the same change, whatever their protocols are. If the change
// is refused, the old one goes on.
func TestNewListenerTakesSocket(t *testing.T) {
	port, file, other := freePort(t), filepath.Join(t.TempDir(), "a.sock"), freePort(t)
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
