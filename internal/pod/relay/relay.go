// Package relay forwards the xDS streams of the pod's Envoy, or of its gRPC libraries, to the control plane, and puts
// the content of files into secrets.
//
// In: the stream of Envoy on a Unix domain socket, the stream of the control plane, and the files that secrets name.
// Out: the log level, which Envoy takes on its admin interface only, and the same streams, but for secrets: where the
// control plane names files, Envoy gets their content, and again when the files change. So Envoy watches no
// directories: each takes an instance of inotify, and the kernel limits those of a user on a node
// (fs.inotify.max_user_instances, 128 by default). Files that are missing or invalid never replace what Envoy has; the
// control plane is told as if Envoy had rejected the secret.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"anymesh.dev/anymesh/internal/identity"
)

const (
	service = "envoy.service.discovery.v3.AggregatedDiscoveryService"
	// Envoy uses the incremental variant, gRPC libraries the state of the world. They subscribe to no secrets.
	incremental     = "DeltaAggregatedResources"
	stateOfTheWorld = "StreamAggregatedResources"

	// offlineTime is how long a stream stays open for secrets while the control plane is unavailable. Envoy then opens
	// another one.
	offlineTime = time.Second
	// pollInterval is the time between looks at the files.
	pollInterval = time.Second
)

// Relay serves one Envoy, or the gRPC libraries of a pod. Use New.
type Relay struct {
	// Certificates returns the certificates that Envoy takes from Secrets, by name, with why it cannot have them: an empty
	// text if it can. The control plane is told. It is nil if there are none; set it before Serve.
	Certificates func() map[string]string
	// LogLevel sets the log level of Envoy to that of the control plane, without waiting for Envoy. It is called for a
	// level that changed, and for each stream of Envoy, which may have been started again. It is nil if there is none; set
	// it before Serve.
	LogLevel func(level string)

	logLevel  logLevel
	upstreams upstreams
	pod       string
	log       *slog.Logger
	secrets   *secrets
	started   atomic.Bool
}

// New creates a relay. dial returns a new connection to the control plane, with the current certificate. pod is the
// name of the pod in messages.
func New(dial func() (*grpc.ClientConn, error), pod string, log *slog.Logger) *Relay {
	return &Relay{upstreams: upstreams{dial: dial}, pod: pod, log: log, secrets: newSecrets(log)}
}

// Started notes that Envoy is ready. Until then, a listener or cluster whose files are missing does not delay the start
// of Envoy; from then on, it waits for the files, and the one before serves.
func (r *Relay) Started() { r.started.Store(true) }

// Listen creates the socket. Users who may write to it, by its mode, may connect.
func Listen(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("socket of xDS: %w", err)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket of xDS: %w", err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(fmt.Errorf("socket of xDS: %w", err), l.Close())
	}
	return l, nil
}

// Serve serves on a listener until the context ends.
func (r *Relay) Serve(ctx context.Context, l net.Listener) error {
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.MaxRecvMsgSize(math.MaxInt32))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: service, HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{r.forward(incremental), r.forward(stateOfTheWorld)},
	}, r)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("server of xDS: %w", err)
	}
	return nil
}

// forward describes a method whose streams are forwarded.
func (r *Relay) forward(method string) grpc.StreamDesc {
	return grpc.StreamDesc{
		StreamName: method, ServerStreams: true, ClientStreams: true,
		Handler: func(_ any, down grpc.ServerStream) error { return r.stream(down, method) },
	}
}

// stream forwards one stream until either side ends it. Without a control plane, it serves secrets for a short time:
// their files may have changed.
func (r *Relay) stream(down grpc.ServerStream, method string) error {
	ctx, cancel := context.WithCancel(down.Context())
	defer cancel()
	s := &session{Relay: r, down: down, subscribed: map[string]string{}, problems: map[string]string{},
		certificates: certificates{problems: map[string]string{}}, settings: method == incremental && r.LogLevel != nil}
	requests, downEnd := receive(ctx, down)
	var responses <-chan []byte
	var upEnd <-chan error
	var end <-chan time.Time
	up, release, failed := r.upstreams.open(ctx, method)
	if failed == nil {
		defer func() { release(failed) }()
		s.up = up
		responses, upEnd = receive(ctx, up)
	} else {
		r.logFailure(failed)
		end = time.After(offlineTime)
	}
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		var err error
		select {
		case <-downEnd: //nolint:errcheck // Envoy has disconnected
			return nil
		case failed = <-upEnd:
			return failed
		case <-end:
			return status.Errorf(codes.Unavailable, "control plane: %v", failed)
		case m := <-requests:
			err = s.request(m)
		case m := <-responses:
			err = s.response(m)
		case <-poll.C:
			err = s.poll()
		}
		if err != nil {
			return err
		}
	}
}

func (r *Relay) logFailure(err error) {
	if identity.IsOtherAuthority(err) {
		r.log.Error(identity.OtherAuthority, "error", err)
		return
	}
	r.log.Info("no xDS stream to the control plane", "error", err)
}

// receive receives messages until the stream ends or the context ends.
func receive(ctx context.Context, s interface{ RecvMsg(any) error }) (<-chan []byte, <-chan error) {
	messages, end := make(chan []byte), make(chan error, 1)
	go func() {
		for {
			var m []byte
			if err := s.RecvMsg(&m); err != nil {
				end <- status.Convert(err).Err()
				return
			}
			select {
			case messages <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	return messages, end
}

// rawCodec passes messages without decoding them.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func (rawCodec) Name() string { return "proto" }
