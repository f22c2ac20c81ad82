package discovery

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
)

// A listener is there with its part, and goes with it.
func TestListenerOfPart(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	ctx, stop := context.WithCancel(t.Context())
	px := proxy.New(ctx, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { stop(); px.Wait() })
	p := &parts{proxy: px, applied: map[string]*config.Config{}, owners: map[object]string{}}
	part, err := parse(fmt.Appendf(nil, `{"listeners":[{"name":"http:%[1]d","spec":{"protocol":"HTTP","port":%[1]d,"address":"127.0.0.1"},"rules":[]}]}`, port))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if refused := p.apply([]change{{"listener", part}}); len(refused) > 0 {
			t.Fatal(refused)
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		if refused := p.apply([]change{{name: "listener"}}); len(refused) > 0 {
			t.Fatal(refused)
		}
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			t.Error("the listener is still there")
		}
	}
}
