package repo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"anymesh.dev/anymesh/internal/adminsocket"
	"anymesh.dev/anymesh/internal/driver/pipy"
	"anymesh.dev/anymesh/internal/xdsclient"
)

// Options are the settings of a sidecar.
type Options struct {
	// Socket is the Unix domain socket on which the agent relays the configuration, and Node the xDS node ID.
	Socket, Node string
	// Program is the name or path of pipy.
	Program string
	// Admin is the Unix domain socket of package adminsocket; empty for none.
	Admin string
}

// drainTime is how long pipy may go on after the context of Run has ended.
const drainTime = 10 * time.Second

// Run runs pipy until the context ends or pipy does. It starts pipy when there is a configuration. The error is that of
// pipy, or of the server.
func Run(ctx context.Context, o Options, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := newCodebase()
	if o.Admin != "" {
		if err := adminsocket.Serve(ctx, o.Admin, adminsocket.Actions{Drain: c.drain}, log); err != nil {
			return err
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("repo server: %w", err)
	}
	server := &http.Server{Handler: c.handler(), ReadHeaderTimeout: time.Second, MaxHeaderBytes: 8 << 10}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	go func() {
		failed <- xdsclient.Follow(ctx, xdsclient.Options{Socket: o.Socket, Node: o.Node, Type: pipy.ResourceType}, c.take, log)
	}()
	if err := c.wait(ctx); err != nil {
		return nil //nolint:nilerr // it was asked to end before it began
	}
	cmd := exec.CommandContext(ctx, o.Program, "--no-status", "--no-metrics", "--no-graph", "--admin-port-off",
		"http://"+listener.Addr().String()+root)
	settings, err := writeTLSSettings(filepath.Dir(o.Socket))
	if err != nil {
		return fmt.Errorf("pipy: settings of OpenSSL: %w", err)
	}
	defer func() { _ = os.Remove(settings) }()
	cmd.Env = append(os.Environ(), "ANYMESH_REPO="+listener.Addr().String(), "OPENSSL_CONF="+settings)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = drainTime
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pipy: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-failed:
		if ctx.Err() == nil {
			cancel()
			return errors.Join(fmt.Errorf("repo server: %w", err), <-ended)
		}
		<-ended //nolint:errcheck // it was asked to end
		return nil
	case err := <-ended:
		if ctx.Err() != nil {
			return nil
		}
		return errors.Join(errors.New("pipy ended"), err)
	}
}

// wait waits until there is a configuration of the workload.
func (c *codebase) wait(ctx context.Context) error {
	for {
		_, _, changed, ok := c.state()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tlsSettings turn tickets off. pipy refuses the handshake of a client that resumes a session: it sets no context for
// sessions, which OpenSSL requires of servers that verify clients.
const tlsSettings = `openssl_conf = settings
[settings]
ssl_conf = tls
[tls]
system_default = server
[server]
Options = -SessionTicket
NumTickets = 0
`

// writeTLSSettings writes a file with the settings of OpenSSL into a folder, and returns its name.
func writeTLSSettings(dir string) (string, error) {
	f, err := os.CreateTemp(dir, "openssl-*.cnf")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(tlsSettings)
	return f.Name(), errors.Join(err, f.Close())
}
