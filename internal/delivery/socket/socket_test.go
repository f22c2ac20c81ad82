package socket_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/delivery/socket"
)

// pair is both ends of a connection, the first of which is direct.
func pair(t *testing.T) (direct, other net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if other, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	direct = socket.Direct(accepted)
	if direct == accepted {
		t.Fatal("a socket of the system is not direct")
	}
	t.Cleanup(func() { _ = direct.Close(); _ = other.Close() })
	return direct, other
}

// What is larger than the system's buffers arrives as a whole, in both directions at once.
func TestMoreThanBuffersHold(t *testing.T) {
	direct, other := pair(t)
	sent := make([]byte, 16<<20)
	_, _ = rand.Read(sent) // it does not fail
	for _, way := range [][2]net.Conn{{direct, other}, {other, direct}} {
		from, to := way[0], way[1]
		t.Run("", func(t *testing.T) {
			t.Parallel()
			go func() {
				if n, err := from.Write(sent); n != len(sent) || err != nil {
					t.Errorf("wrote %d bytes, %v", n, err)
				}
			}()
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("what arrived is not what was sent: %v", err)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	direct, other := pair(t)
	_ = other.Close()
	if n, err := direct.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if n, err := direct.Read(nil); n != 0 || err != nil {
		t.Errorf("an empty read: %d, %v", n, err)
	}
	var err error
	for err == nil {
		_, err = direct.Write(make([]byte, 1<<10))
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("write to nobody: %v", err)
	}
}

// Whoever waits is interrupted by a deadline, and by the end.
func TestWaits(t *testing.T) {
	for name, wait := range map[string]func(net.Conn) error{
		"read":  func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"write": func(c net.Conn) error { _, err := c.Write(make([]byte, 64<<20)); return err },
	} {
		t.Run(name+", deadline", func(t *testing.T) {
			direct, _ := pair(t)
			_ = direct.SetDeadline(time.Now().Add(time.Millisecond))
			if err := wait(direct); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
		t.Run(name+", closed", func(t *testing.T) {
			direct, _ := pair(t)
			time.AfterFunc(time.Millisecond, func() { _ = direct.Close() })
			if err := wait(direct); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestNoSocket(t *testing.T) {
	one, _ := net.Pipe()
	if socket.Direct(one) != one {
		t.Error("a pipe has no system calls")
	}
}
