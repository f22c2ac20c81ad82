package proxy_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/test/freeport"
)

// patience limits what a test waits for.
const patience = 20 * time.Second

// start runs a proxy with a configuration. $NAME in it is a free port, the same for equal names. It returns the address
// of each port.
func start(t testing.TB, text string, ports ...string) map[string]string {
	t.Helper()
	addresses := map[string]string{}
	for _, name := range ports {
		port := freeport.Port(t)
		addresses[name] = fmt.Sprintf("127.0.0.1:%d", port)
		text = strings.ReplaceAll(text, "$"+name, fmt.Sprint(port))
	}
	if err := tryStart(t, text); err != nil {
		t.Fatal(err)
	}
	return addresses
}

func tryStart(t testing.TB, text string) error {
	t.Helper()
	value, err := config.ParseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := new(config.Config)
	if err := config.Decode("", value, c); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := proxy.New(ctx, slog.New(slog.NewTextHandler(t.Output(), nil)))
	t.Cleanup(func() {
		cancel()
		p.Wait()
	})
	return p.Apply(c)
}

func portOf(a net.Addr) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}

// listen returns the port of a TCP server that serves each connection with a function.
func listen(t testing.TB, serve func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			}()
		}
	}()
	return portOf(l.Addr())
}

func dial(t testing.TB, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}
