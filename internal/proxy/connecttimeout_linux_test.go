package proxy_test

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A connection that no server accepts in time is no connection: Envoy answers with 503, too.
func TestConnectTimeout(t *testing.T) {
	full := fullServer(t)
	url := "http://" + start(t, fmt.Sprintf(routeConfig, "retry: {timeout: 200}", full), "IN")["IN"]
	if response, body := do(t, request(t, "GET", url, nil)); response.StatusCode != 503 {
		t.Errorf("got status %d %s", response.StatusCode, body)
	}
}

// fullServer returns the port of a server that accepts no connection, and whose queue is full.
func fullServer(t *testing.T) (port string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port = fmt.Sprint(at.(*unix.SockaddrInet4).Port)
	for range 100 {
		c, err := net.DialTimeout("tcp", "127.0.0.1:"+port, 200*time.Millisecond)
		if err != nil {
			return port
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	t.Fatal("the queue never gets full")
	return ""
}
