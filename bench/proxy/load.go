package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	request = "GET /a/path HTTP/1.1\r\nHost: example.com\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\nX-Request-Id: 0123456789abcdef\r\n\r\n"
	// bodySize is the size of the body of a response.
	bodySize = 1024
)

var response = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nServer: bench\r\nContent-Length: %d\r\n\r\n%s",
	bodySize, strings.Repeat("x", bodySize))

// serve accepts connections and returns the port.
func serve(ctx context.Context, each func(net.Conn)) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() }) // interrupts Accept
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				each(c)
				_ = c.Close() // it has ended
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// answer answers requests without bodies.
func answer(c net.Conn) {
	buffer := make([]byte, 4096)
	have := 0
	for {
		n, err := c.Read(buffer[have:])
		if err != nil {
			return
		}
		if have += n; !bytes.HasSuffix(buffer[:have], []byte("\r\n\r\n")) {
			continue
		}
		have = 0
		if _, err := io.WriteString(c, response); err != nil {
			return
		}
	}
}

// discard reads everything.
func discard(received *atomic.Int64) func(net.Conn) {
	return func(c net.Conn) {
		buffer := make([]byte, 256<<10)
		for {
			n, err := c.Read(buffer)
			received.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
}

// load runs a function on each of some connections for a while, and returns how many requests the functions counted.
func load(
	ctx context.Context, port, connections int, d time.Duration, each func(context.Context, net.Conn, *atomic.Int64) error,
) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var count atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	for range connections {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return 0, err
		}
		all.Go(func() error {
			defer func() { _ = c.Close() }() // it has ended
			return each(ctx, c, &count)
		})
	}
	err := all.Wait()
	return count.Load(), err
}

// repeat sends a request of HTTP/1 after the other.
func repeat(ctx context.Context, c net.Conn, count *atomic.Int64) error {
	buffer := make([]byte, 8192)
	for ctx.Err() == nil {
		if _, err := io.WriteString(c, request); err != nil {
			return err
		}
		for have, want := 0, -1; want < 0 || have < want; {
			n, err := c.Read(buffer[have:])
			if err != nil {
				return err
			}
			have += n
			if end := bytes.Index(buffer[:have], []byte("\r\n\r\n")); want < 0 && end > 0 {
				if want = end + 4 + bodySize; !bytes.HasPrefix(buffer, []byte("HTTP/1.1 200")) {
					return errors.New("unexpected response: " + string(buffer[:end]))
				}
			}
		}
		count.Add(1)
	}
	return nil
}

// upload sends data over one connection for a while.
func upload(port int, d time.Duration) error {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // it has ended
	buffer := make([]byte, 256<<10)
	for end := time.Now().Add(d); time.Now().Before(end); {
		if _, err := c.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}
