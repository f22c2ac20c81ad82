package observe

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"anymesh.dev/anymesh/model"
)

// responseTimeout limits a request. All requests of cases take less time.
const responseTimeout = 20 * time.Second

// Observation is the result of a request on the client side.
type Observation struct {
	Received
	// Status is the HTTP status or the name of the gRPC status, or "broken" if the response ended early.
	Status string
	// Duration is the time from the request to the end of the response.
	Duration time.Duration
	// Refused is true if the connection was closed before the first byte of a response.
	Refused bool
}

// caller sends the requests of one line. HTTP/1.1 and HTTP/2 requests share a connection, as in applications.
type caller struct {
	line Line
	// to is the address that dial connects to.
	to   netip.AddrPort
	dial func(ctx context.Context, address string) (net.Conn, error)
	// secured is the TLS configuration of the client; nil without TLS.
	secured *tls.Config
	// library is that of the application, which connects to targets of the mesh itself; nil if the pod has a proxy.
	library *library

	http http.RoundTripper
	sent int
	// hold makes the destination send no response.
	hold bool
	// connections and received count connections and bytes since the last request was started.
	connections, received atomic.Int64
	// raw has the first bytes of TLS connections since then, without decryption.
	raw head
}

func newCaller(l Line, to netip.AddrPort, dial func(context.Context, string) (net.Conn, error)) *caller {
	c := &caller{line: l, to: to, dial: dial}
	reach := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx, to.String()) }
	c.http = &http.Transport{DialContext: reach, DisableCompression: true}
	if l.Request.Protocol == model.HTTP2 {
		//nolint:staticcheck // net/http does not support scheme https without TLS
		c.http = &http2.Transport{
			AllowHTTP: true, DisableCompression: true,
			DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
				return reach(ctx, network, address)
			},
		}
	}
	return c
}

func (c *caller) connect(ctx context.Context, address string) (net.Conn, error) {
	conn, err := c.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	c.connections.Add(1)
	if c.secured != nil {
		conn = tls.Client(recordingConn{conn, &c.raw}, c.secured)
	}
	return countingConn{conn, &c.received}, nil
}

// countingConn counts received bytes, except for those of a TLS alert.
type countingConn struct {
	net.Conn
	received *atomic.Int64
}

// alertRecord is the first byte of a TLS alert.
const alertRecord = 21

func (c countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && (b[0] != alertRecord || c.received.Load() > 0) {
		c.received.Add(int64(n))
	}
	return n, err
}

// send makes one request. The result is Refused if a connection is closed without sending a byte.
func (c *caller) send(ctx context.Context) (Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
	defer cancel()
	c.sent++
	c.connections.Store(0)
	c.received.Store(0)
	c.raw.reset()
	var seen Observation
	var err error
	began := time.Now()
	switch c.line.Request.Protocol {
	case model.TCP:
		seen, err = c.stream(ctx)
	case model.GRPC:
		seen, err = c.call(ctx)
	default:
		seen, err = c.request(ctx)
	}
	seen.Duration = time.Since(began)
	if err != nil && ctx.Err() == nil && c.connections.Load() > 0 && c.received.Load() == 0 {
		return Observation{Refused: true}, nil
	}
	return seen, err
}

func (c *caller) id() string { return fmt.Sprintf("%d-%d", c.line.Number, c.sent) }

func (c *caller) script() string {
	var words []string
	for _, a := range c.line.Responses {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

func (c *caller) request(ctx context.Context) (Observation, error) {
	r := c.line.Request
	path, query, _ := strings.Cut(r.Path, "?")
	u := &url.URL{
		Scheme: r.Scheme, Host: c.to.String(), Path: path, RawQuery: query, ForceQuery: strings.HasSuffix(r.Path, "?"),
	}
	if !strings.HasPrefix(path, "//") {
		u.Opaque = path // unchanged, even if it is not a valid path
	}
	request := (&http.Request{Method: r.Method, URL: u, Host: r.Host, Header: http.Header{}}).WithContext(ctx)
	for _, h := range r.Headers {
		request.Header.Add(h.Name, h.Value)
	}
	request.Header.Set(idHeader, c.id())
	request.Header.Set(scriptHeader, c.script())
	if c.hold {
		request.Header.Set(holdHeader, "1")
	}
	response, err := c.http.RoundTrip(request)
	if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		return Observation{Status: c.raw.status()}, nil
	}
	if err != nil {
		return Observation{}, err
	}
	defer response.Body.Close()
	seen := Observation{Status: strconv.Itoa(response.StatusCode)}
	if _, err := io.Copy(io.Discard, response.Body); ctx.Err() != nil {
		return Observation{}, err
	} else if err != nil {
		seen.Status = broken
	}
	return seen, decodeReceived(response.Header.Get(receivedHeader), &seen.Received)
}

func (c *caller) call(ctx context.Context) (Observation, error) {
	r := c.line.Request
	conn, done, err := c.dialGRPC()
	if err != nil {
		return Observation{}, err
	}
	defer done()
	again := ctx
	for _, h := range r.Headers {
		ctx = metadata.AppendToOutgoingContext(ctx, h.Name, h.Value)
	}
	ctx = metadata.AppendToOutgoingContext(ctx, idHeader, c.id(), scriptHeader, c.script())
	if c.hold {
		ctx = metadata.AppendToOutgoingContext(ctx, holdHeader, "1")
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, r.Path)
	if err != nil && c.library != nil {
		return Observation{Status: grpcStatus(err)}, nil // it needs no connection for that
	}
	if err != nil {
		return Observation{}, err
	}
	_ = stream.SendMsg(&emptypb.Empty{}) // RecvMsg returns the error
	_ = stream.CloseSend()
	for err == nil {
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	switch {
	case err == io.EOF: //nolint:errorlint // the plain error is the end of a call without an error
		err = nil
	case errors.Is(err, io.EOF):
		// The message met the end of the last try. gRPC for Go has no status then, as of 1.85.
		c.sent++
		return c.call(again)
	}
	seen := Observation{Status: "ok"}
	if err != nil {
		seen.Status = grpcStatus(err)
		if c.received.Load() == 0 && c.library == nil {
			return Observation{}, err
		}
	}
	got := stream.Trailer().Get(receivedHeader)
	if header, _ := stream.Header(); len(got) == 0 && len(header.Get(receivedHeader)) > 0 {
		got, seen.Status = header.Get(receivedHeader), broken // the server did not send trailers
	}
	if len(got) == 0 {
		return seen, nil
	}
	return seen, decodeReceived(got[0], &seen.Received)
}

// grpcStatus returns the name of the status of a call, or what it says if cases do not have it.
func grpcStatus(err error) string {
	s := status.Convert(err)
	for name, code := range grpcCodes {
		if uint32(code) == uint32(s.Code()) {
			return name
		}
	}
	return fmt.Sprintf("%s (%s)", s.Code(), s.Message())
}

// dialGRPC returns the connection for a call, and a function to call after it.
func (c *caller) dialGRPC() (conn *grpc.ClientConn, done func(), err error) {
	if c.library != nil {
		conn, err = c.library.dial(c.line.Request.Host, c.line.Request.Port)
		return conn, func() {}, err
	}
	conn, err = grpc.NewClient("passthrough:///"+c.to.String(), grpc.WithAuthority(c.line.Request.Host), grpc.WithDisableRetry(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(c.connect))
	return conn, func() { _ = conn.Close() }, err
}

func decodeReceived(text string, into *Received) error {
	if text == "" {
		return nil // local response of the sidecar
	}
	return json.Unmarshal([]byte(text), into)
}
