package proxy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Source keeps the configuration current until the context ends. server is the address of the control plane, host:port,
// or the socket of the agent; node is the node ID of the sidecar. While there is no connection, the last configuration
// stays.
type Source func(ctx context.Context, server, node string, m *Mesh)

// Run runs the sidecar until the context ends.
func Run(ctx context.Context, args []string, follow Source) error {
	flags := flag.NewFlagSet("sidecar", flag.ContinueOnError)
	server := flags.String("server", "", "address of the control plane, or socket of the agent")
	node := flags.String("node", "", "node ID")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m := &Mesh{resolved: map[string]model.ResolvedDestination{}}
	p := &proxy{mesh: m, requests: make(chan net.Conn)}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { follow(ctx, *server, *node, m); return nil })
	group.Go(func() error { return listen(ctx, sidecar.InboundPort, p.inbound) })
	group.Go(func() error { return listen(ctx, sidecar.OutboundPort, p.outbound) })
	group.Go(func() error { return serve(ctx, connections{p.requests, ctx}, http.HandlerFunc(p.request)) })
	group.Go(func() error {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", readyAddress)
		if err != nil {
			return err
		}
		return serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if err := m.ready(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
			}
		}))
	})
	return group.Wait()
}

// listen accepts captured connections and passes each one with its original destination.
func listen(ctx context.Context, port int, handle func(net.Conn, netip.AddrPort)) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", ":"+strconv.Itoa(port))
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		to, err := originalDestination(conn.(*net.TCPConn))
		if err != nil {
			_ = conn.Close()
			continue
		}
		go handle(conn, to)
	}
}

// originalDestination returns the destination of a connection before it was captured.
func originalDestination(conn *net.TCPConn) (netip.AddrPort, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return netip.AddrPort{}, err
	}
	var to netip.AddrPort
	controlErr := raw.Control(func(fd uintptr) {
		// The kernel returns a sockaddr_in, which fits into this structure: family, port, address.
		var got *unix.IPv6Mreq
		if got, err = unix.GetsockoptIPv6Mreq(int(fd), unix.SOL_IP, unix.SO_ORIGINAL_DST); err == nil {
			b := got.Multiaddr
			to = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), uint16(b[2])<<8|uint16(b[3]))
		}
	})
	return to, errors.Join(err, controlErr)
}

// proxy forwards connections and requests.
type proxy struct {
	mesh     *Mesh
	requests chan net.Conn
}

// inbound forwards connections to declared listeners to the application as raw TCP.
func (p *proxy) inbound(conn net.Conn, to netip.AddrPort) {
	p.mesh.mu.RLock()
	view := p.mesh.view
	p.mesh.mu.RUnlock()
	if view != nil {
		for _, in := range view.Inbound {
			if in.Listener.Port == to.Port() {
				copyBoth(conn, net.JoinHostPort("127.0.0.1", strconv.Itoa(int(to.Port()))))
				return
			}
		}
	}
	_ = conn.Close()
}

// outbound handles ports of HTTP services as HTTP and forwards other ports as raw TCP.
func (p *proxy) outbound(conn net.Conn, to netip.AddrPort) {
	p.mesh.mu.RLock()
	view := p.mesh.view
	p.mesh.mu.RUnlock()
	if view == nil {
		_ = conn.Close()
		return
	}
	for _, o := range view.Outbound {
		for _, b := range o.Bindings {
			if o.Port == to.Port() && b.Protocol == model.HTTP {
				p.requests <- captured{conn, to}
				return
			}
		}
	}
	_, address := p.decide(model.Request{Port: to.Port(), Address: to.Addr(), Protocol: model.TCP})
	if address == "" {
		_ = conn.Close()
		return
	}
	copyBoth(conn, address)
}

// decide evaluates the model and picks a target by weight. The address is empty if the request is not forwarded.
func (p *proxy) decide(r model.Request) (model.Decision, string) {
	p.mesh.mu.RLock()
	defer p.mesh.mu.RUnlock()
	d := p.mesh.view.Decide(r)
	switch d.Outcome {
	case model.PassedThrough:
		return d, netip.AddrPortFrom(r.Address, r.Port).String()
	case model.Forwarded:
	default:
		return d, ""
	}
	total := uint32(0)
	for _, t := range d.Targets {
		total += t.Weight
	}
	n := rand.Uint32N(total)
	for _, t := range d.Targets {
		if n < t.Weight {
			return d, addressOf(p.mesh.resolved[t.Destination])
		}
		n -= t.Weight
	}
	return d, ""
}

// copyBoth copies in both directions until both ends are closed.
func copyBoth(from net.Conn, address string) {
	defer func() { _ = from.Close() }()
	to, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	done := make(chan struct{})
	oneWay := func(a, b net.Conn) {
		_, _ = io.Copy(a, b)
		if half, ok := a.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	go func() { defer close(done); oneWay(to, from) }()
	oneWay(from, to)
	<-done
}

func serve(ctx context.Context, l net.Listener, handler http.Handler) error {
	s := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, capturedKey{}, conn)
		},
	}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) && ctx.Err() == nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
