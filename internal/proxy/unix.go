package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/datagram"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/session"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// acceptUnix accepts connections to a unix socket. It replaces a file that nobody serves, and removes its own at the
// end.
func (l *listener) acceptUnix(spec *config.ListenerSpec, handle func(session.Source)) error {
	network := "unix"
	if spec.Type == "seqpacket" {
		network = "unixpacket"
	}
	if spec.Type == "datagram" {
		network = "unixgram"
	}
	if err := removeStale(l.ctx, network, spec.Filename); err != nil {
		return err
	}
	if network == "unixgram" {
		return l.acceptDatagrams(spec, handle)
	}
	err := l.listenStream(network, spec.Filename, func(nc net.Conn) {
		var s stream.Stream = stream.Conn{Conn: nc}
		if network == "unixpacket" {
			s = stream.Packets{Conn: stream.Conn{Conn: nc}}
		}
		handle(session.Source{
			Name: fmt.Sprintf("UNIX:%s-%d", l.current().Name, l.accepted.Load()), Stream: s,
			Meta: &metadata.Tree{Root: map[string]any{"UNIX": map[string]any{"filename": spec.Filename}}},
		})
	})
	if err != nil {
		return err
	}
	return openToAll(spec.Filename)
}

// acceptDatagrams accepts the peers of a unix datagram socket.
func (l *listener) acceptDatagrams(spec *config.ListenerSpec, handle func(session.Source)) error {
	u := &datagram.UnixListener{Idle: config.UDPIdle}
	if err := u.Listen(l.ctx, spec.Filename); err != nil {
		return err
	}
	if err := openToAll(spec.Filename); err != nil {
		u.Close()
		return err
	}
	u.Accept = func(peer *datagram.UnixPeer) {
		l.proxy.running.Go(func() {
			unix := map[string]any{"filename": spec.Filename, "peer": peer.Name()}
			handle(session.Source{
				Name: fmt.Sprintf("UNIX:%s-%d", l.current().Name, l.accepted.Load()), Stream: peer,
				Meta: &metadata.Tree{Root: map[string]any{"UNIX": unix}},
			})
		})
	}
	l.closeSocket = u.Close
	context.AfterFunc(l.ctx, u.Close)
	l.onBegin(u.Serve)
	return nil
}

// acceptStdio makes standard input and output a session.
func (l *listener) acceptStdio(handle func(session.Source)) error {
	l.closeSocket = func() {}
	l.onBegin(func() {
		handle(session.Source{Name: "Stdio", Stream: stdio{}, Meta: &metadata.Tree{Root: map[string]any{"STDIO": map[string]any{}}}})
	})
	return nil
}

// stdio is standard input and output.
type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) CloseWrite() error           { return os.Stdout.Close() }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }
func (stdio) Messages() bool              { return false }

// removeStale removes the socket of a process that has ended.
func removeStale(ctx context.Context, network, name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("filename: %s is no socket", name)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, name)
	if err == nil {
		_ = c.Close() // it was a question
	}
	// A socket of another user may refuse the question.
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EACCES) && !bound(filepath.Base(name)) {
		return os.Remove(name)
	}
	return nil // somebody serves it, and to listen is an error
}

// bound reports whether a process of the network namespace, which is that of the pod, has a unix socket with a file of
// this name. The folder may have another path there. It is true if the kernel does not tell.
func bound(file string) bool {
	sockets, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(sockets)) {
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), "/"+file) {
			return true
		}
	}
	return false
}

// socketMode lets every user connect whom the folder of the socket lets in: the application of a pod usually has
// another user than its proxy.
const socketMode = 0o666

func openToAll(name string) error {
	if strings.HasPrefix(name, "@") { // abstract: it has no file
		return nil
	}
	if err := os.Chmod(name, socketMode); err != nil {
		return fmt.Errorf("filename: %w", err)
	}
	return nil
}
