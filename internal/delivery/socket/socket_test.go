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

// connectionPair returns both ends of a TCP connection; the first is direct.
func connectionPair(t *testing.T) (direct, other net.Conn) {
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
		t.Fatal("Direct did not wrap a TCP connection")
	}
	t.Cleanup(func() { _ = direct.Close(); _ = other.Close() })
	return direct, other
}

// Data larger than the socket buffers arrives completely, in both directions at once.
func TestWritesLargerThanSocketBuffers(t *testing.T) {
	direct, other := connectionPair(t)
	sent := make([]byte, 16<<20)
	_, _ = rand.Read(sent) // never fails
	for _, way := range [][2]net.Conn{{direct, other}, {other, direct}} {
		from, to := way[0], way[1]
		t.Run("", func(t *testing.T) {
			t.Parallel()
			go func() {
				if n, err := from.Write(sent); n != len(sent) || err != nil {
					t.Errorf("wrote %d bytes, error %v", n, err)
				}
			}()
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(to, got); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("received other data, error %v", err)
			}
		})
	}
}

func TestReadAndWriteAfterPeerCloses(t *testing.T) {
	direct, other := connectionPair(t)
	_ = other.Close()
	if n, err := direct.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read after close: got %d, %v", n, err)
	}
	if n, err := direct.Read(nil); n != 0 || err != nil {
		t.Errorf("empty read: got %d, %v", n, err)
	}
	var err error
	for err == nil {
		_, err = direct.Write(make([]byte, 1<<10))
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("write after close: got error %v", err)
	}
}

func TestDeadlineAndCloseInterruptBlockedCalls(t *testing.T) {
	for name, call := range map[string]func(net.Conn) error{
		"read":  func(c net.Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"write": func(c net.Conn) error { _, err := c.Write(make([]byte, 64<<20)); return err },
	} {
		t.Run(name+", deadline", func(t *testing.T) {
			direct, _ := connectionPair(t)
			_ = direct.SetDeadline(time.Now().Add(time.Millisecond))
			if err := call(direct); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got error %v", err)
			}
		})
		t.Run(name+", closed", func(t *testing.T) {
			direct, _ := connectionPair(t)
			time.AfterFunc(time.Millisecond, func() { _ = direct.Close() })
			if err := call(direct); !errors.Is(err, net.ErrClosed) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestPipeIsNotDirect(t *testing.T) {
	one, _ := net.Pipe()
	if socket.Direct(one) != one {
		t.Error("Direct wrapped a pipe")
	}
}
