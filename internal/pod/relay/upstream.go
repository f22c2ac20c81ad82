package relay

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// dialTimeout limits how long a stream waits for a connection to the control plane.
const dialTimeout = 5 * time.Second

// upstreams are the connections to the control plane. Streams share one: gRPC libraries open a stream for each service
// that they call, and the control plane limits the connections of a pod.
type upstreams struct {
	dial func() (*grpc.ClientConn, error)

	mutex   sync.Mutex
	current *upstream // nil if the next stream needs a new connection
}

type upstream struct {
	conn    *grpc.ClientConn
	streams int
}

// open opens a stream. release must be called when it has ended, with the error of its end or nil. If it is about the
// connection, new streams use a new one, with the certificate of that time.
func (u *upstreams) open(ctx context.Context, method string) (s grpc.ClientStream, release func(error), err error) {
	one, err := u.acquire()
	if err != nil {
		return nil, nil, err
	}
	// A stream waits for the connection, and fails with the first attempt that fails.
	ctx, cancel := context.WithCancel(ctx)
	release = func(end error) {
		cancel()
		u.release(one, end)
	}
	limit := time.AfterFunc(dialTimeout, cancel)
	s, err = one.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/"+service+"/"+method, grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(math.MaxInt32))
	if !limit.Stop() {
		err = fmt.Errorf("no connection within %s", dialTimeout)
	}
	if err != nil {
		release(err)
		return nil, nil, err
	}
	return s, release, nil
}

func (u *upstreams) acquire() (*upstream, error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.current == nil {
		conn, err := u.dial()
		if err != nil {
			return nil, err
		}
		u.current = &upstream{conn: conn}
	}
	u.current.streams++
	return u.current, nil
}

func (u *upstreams) release(one *upstream, end error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	one.streams--
	ended := end != nil && status.Code(end) != codes.ResourceExhausted // a limit is not about the connection
	if u.current == one && (ended || one.streams == 0) {
		u.current = nil
	}
	if one.streams == 0 {
		_ = one.conn.Close() // its streams have ended
	}
}
