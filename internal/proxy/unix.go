package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"anymesh.dev/anymesh/internal/proxy/config"
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
	if err := removeStale(l.ctx, network, spec.Filename); err != nil {
		return err
	}
	return l.listenStream(network, spec.Filename, func(nc net.Conn) {
		var s stream.Stream = stream.Conn{Conn: nc}
		if network == "unixpacket" {
			s = stream.Packets{Conn: stream.Conn{Conn: nc}}
		}
		handle(session.Source{
			Name: fmt.Sprintf("UNIX:%s-%d", l.current().Name, l.accepted.Load()), Stream: s,
			Meta: &metadata.Tree{Root: map[string]any{"UNIX": map[string]any{"filename": spec.Filename}}},
		})
	})
}

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
	if errors.Is(err, syscall.ECONNREFUSED) {
		return os.Remove(name)
	}
	return nil // somebody serves it, and to listen is an error
}
