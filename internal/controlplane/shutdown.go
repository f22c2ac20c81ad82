package controlplane

import (
	"context"
	"net"
	"sync"
	"time"
)

// delayShutdown returns a context that ends Config.ShutdownDelay after ctx. In this time the control plane is not
// ready, the leader releases its Lease, sidecars go to other replicas, and API servers get answers on new connections.
func (cp *controlPlane) delayShutdown(ctx context.Context) (context.Context, context.CancelFunc) {
	delayed, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		close(cp.shutdown)
		time.AfterFunc(cp.ShutdownDelay, stop)
	})
	return delayed, stop
}

// untilShutdown returns a context that ends when the shutdown begins, or with ctx.
func (cp *controlPlane) untilShutdown(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		select {
		case <-cp.shutdown:
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// successive gives the connections of a listener to one server after another. http.Server closes its listener before it
// ends its connections; the next server accepts from then on, and no connection is refused between them.
type successive struct {
	net.Listener
	accepted chan accepted
}

type accepted struct {
	conn net.Conn
	err  error
}

// newSuccessive accepts connections until the context ends.
func newSuccessive(ctx context.Context, l net.Listener) *successive {
	s := &successive{l, make(chan accepted)}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil && ctx.Err() != nil {
				return // the listener is closed, and servers end by themselves
			}
			select {
			case s.accepted <- accepted{conn, err}:
			case <-ctx.Done():
				if err == nil {
					_ = conn.Close()
				}
				return
			}
		}
	}()
	return s
}

// next returns the listener of the next server.
func (s *successive) next() net.Listener {
	return &serverListener{successive: s, closed: make(chan struct{})}
}

// serverListener is the listener of one server.
type serverListener struct {
	*successive
	closed chan struct{}
	close  sync.Once
}

// Accept implements net.Listener.
func (l *serverListener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The next server gets the connections that are not accepted yet.
func (l *serverListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}
