package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"anymesh.dev/anymesh/internal/delivery/grpcserver"
)

// method is the path of the streams.
const method = "/push.Push/Stream"

// messageSize is that of the endpoints of a service with two pods, in bytes.
const messageSize = 340

// pushServer is a server of one kind.
type pushServer interface {
	// serve accepts connections until the context ends. It calls received for each message of a client.
	serve(ctx context.Context, l net.Listener, secure *tls.Config, received func()) error
	// streams returns the open streams, to send messages with.
	streams() []func([]byte) error
}

// servers are the compared ones.
var servers = []struct {
	name string
	new  func() pushServer
}{
	{"grpcserver", func() pushServer { return &ours{} }},
	{"grpc-go, tuned", func() pushServer {
		return &peer{options: []grpc.ServerOption{
			grpc.InitialWindowSize(1 << 20), grpc.InitialConnWindowSize(1 << 20), // no pings that probe the bandwidth
			grpc.WriteBufferSize(4 << 10), grpc.ReadBufferSize(4 << 10),
		}}
	}},
	{"grpc-go", func() pushServer { return &peer{} }},
}

// ours is grpcserver.
type ours struct{ open registry }

func (o *ours) serve(ctx context.Context, l net.Listener, secure *tls.Config, received func()) error {
	return grpcserver.Serve(ctx, l, grpcserver.Options{
		TLS: secure, Methods: map[string]func(*grpcserver.Stream) grpcserver.StreamHandler{
			method: func(s *grpcserver.Stream) grpcserver.StreamHandler {
				o.open.add(func(message []byte) error { return s.Send(message) })
				return handler{received}
			},
		},
	})
}

func (o *ours) streams() []func([]byte) error { return o.open.all() }

type handler struct{ received func() }

func (h handler) OnMessage([]byte) { h.received() }
func (h handler) OnEnd(error)      {}

// peer is grpc-go.
type peer struct {
	options []grpc.ServerOption
	open    registry
}

func (p *peer) serve(ctx context.Context, l net.Listener, secure *tls.Config, received func()) error {
	s := grpc.NewServer(append(p.options, grpc.Creds(credentials.NewTLS(secure)), grpc.ForceServerCodecV2(plainCodec{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			p.open.add(func(message []byte) error { return stream.SendMsg(message) })
			for {
				var message []byte
				if err := stream.RecvMsg(&message); err != nil {
					return err
				}
				received()
			}
		}))...)
	context.AfterFunc(ctx, s.Stop)
	return s.Serve(l)
}

func (p *peer) streams() []func([]byte) error { return p.open.all() }

// serve runs a server. On stdin, a line asks for a push to all streams. On stdout it writes its address and
// certificate, and after each push its CPU time in microseconds.
func serve(ctx context.Context, name string) error {
	var s pushServer
	for _, known := range servers {
		if known.name == name {
			s = known.new()
		}
	}
	if s == nil {
		return fmt.Errorf("--serve %q: no such server", name)
	}
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var messages atomic.Int64
	wake := make(chan struct{}, 1)
	failed := make(chan error, 1)
	secure := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}
	go func() {
		failed <- s.serve(ctx, l, secure, func() {
			if messages.Add(-1) == 0 {
				wake <- struct{}{}
			}
		})
	}()
	fmt.Println(l.Addr(), base64.StdEncoding.EncodeToString(certificate.Certificate[0]))
	message := make([]byte, messageSize)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		all := s.streams()
		messages.Store(int64(len(all)))
		for _, send := range all {
			if err := send(message); err != nil {
				return err
			}
		}
		if len(all) > 0 {
			select {
			case <-wake:
			case err := <-failed:
				return err
			}
		}
		var spent syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent); err != nil {
			return err
		}
		fmt.Println((spent.Utime.Nano()+spent.Stime.Nano())/1000, len(all))
	}
	return nil
}

func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{serverName}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
