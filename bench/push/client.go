package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
)

// serverName is the name in the certificate of the server.
const serverName = "push"

// ackSize is that of the acknowledgement of a response, in bytes.
const ackSize = 60

// measure starts a server and clients. It returns the CPU time of the server for a push to one client, in
// microseconds.
func measure(ctx context.Context, name string, o options) (cost float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	self, err := os.Executable()
	if err != nil {
		cancel()
		return 0, err
	}
	server := exec.CommandContext(ctx, self, "--serve", name)
	server.Stderr = os.Stderr
	input, inputErr := server.StdinPipe()
	output, err := server.StdoutPipe()
	if err = errors.Join(inputErr, err, server.Start()); err != nil {
		cancel()
		return 0, err
	}
	var clients errgroup.Group
	defer func() {
		cancel()
		_, _ = clients.Wait(), server.Wait() // both end because of the context
	}()
	p := &process{in: input, out: bufio.NewReader(output)}
	var address, encoded string
	if _, err := fmt.Fscan(p.out, &address, &encoded); err != nil {
		return 0, err
	}
	der, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return 0, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return 0, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	for range o.clients {
		stream, err := connect(ctx, address, roots)
		if err != nil {
			return 0, err
		}
		clients.Go(func() error { return acknowledge(stream) })
	}
	if err := p.awaitStreams(o.clients); err != nil {
		return 0, err
	}
	for range o.pushes / 10 { // until buffers and stacks have their sizes
		if _, _, err := p.push(); err != nil {
			return 0, err
		}
	}
	before, _, err := p.push()
	for range o.pushes {
		if err != nil {
			break
		}
		cost, _, err = p.push()
	}
	return (cost - before) / float64(o.pushes*o.clients), err
}

// process is the process of a server.
type process struct {
	in  io.Writer
	out *bufio.Reader
}

// push asks for a push. It returns the CPU time of the process until then in microseconds, and the number of streams.
func (p *process) push() (spent float64, streams int, err error) {
	if _, err = fmt.Fprintln(p.in); err == nil {
		_, err = fmt.Fscan(p.out, &spent, &streams)
	}
	return spent, streams, err
}

// awaitStreams waits until the server has the streams of all clients. The clients have sent their first message.
func (p *process) awaitStreams(clients int) error {
	for {
		_, n, err := p.push()
		if err != nil || n == clients {
			return err
		}
	}
}

// connect opens a stream on a connection of its own, like Envoy without pings that probe the bandwidth.
func connect(ctx context.Context, address string, roots *x509.CertPool) (grpc.ClientStream, error) {
	c, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: serverName, MinVersion: tls.VersionTLS13})),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(plainCodec{})),
		grpc.WithInitialWindowSize(1<<20), grpc.WithInitialConnWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = c.Close() }) // the process of the server ends, too
	return c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
}

// acknowledge answers each message.
func acknowledge(stream grpc.ClientStream) error {
	ack := make([]byte, ackSize)
	for {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		if err := stream.SendMsg(ack); err != nil {
			return err
		}
	}
}

// plainCodec sends byte slices unchanged.
type plainCodec struct{}

func (plainCodec) Name() string { return "plain" }

func (plainCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (plainCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// registry lists the open streams of a server.
type registry struct {
	mu   sync.Mutex
	open []func([]byte) error
}

func (r *registry) add(send func([]byte) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = append(r.open, send)
}

func (r *registry) all() []func([]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[:len(r.open):len(r.open)]
}
