package conformance

import (
	"bufio"
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
	"os"
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

// patience is how long an answer may take. Nothing that a case does takes as long.
const patience = 20 * time.Second

// Seen is what a client saw.
type Seen struct {
	Got
	// Answer is the HTTP status, or the name of the gRPC status, unless the answer broke off.
	Answer string
	// Took is the time from the request to the end of the answer.
	Took time.Duration
	// Refused: the connection ended before there was a byte of an answer.
	Refused bool
}

// caller sends one line's requests. Requests of HTTP/1.1 and 2 share a connection, as applications do it.
type caller struct {
	line Line
	// to is the address to dial, dial how.
	to   netip.AddrPort
	dial func(ctx context.Context, address string) (net.Conn, error)

	http http.RoundTripper
	sent int
	// connections and received count what came of dialing, since the last request began.
	connections, received atomic.Int64
}

func newCaller(l Line, to netip.AddrPort, dial func(context.Context, string) (net.Conn, error)) *caller {
	c := &caller{line: l, to: to, dial: dial}
	reach := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx, to.String()) }
	c.http = &http.Transport{DialContext: reach, DisableCompression: true}
	if l.Request.Protocol == model.HTTP2 {
		//nolint:staticcheck // net/http itself cannot say "https" without TLS
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
	return counted{conn, &c.received}, nil
}

// counted counts the bytes that come.
type counted struct {
	net.Conn
	received *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

// send makes one request. It is refused when there is a connection that ends without a byte.
func (c *caller) send(ctx context.Context) (Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c.sent++
	c.connections.Store(0)
	c.received.Store(0)
	var seen Seen
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
	seen.Took = time.Since(began)
	if err != nil && ctx.Err() == nil && c.connections.Load() > 0 && c.received.Load() == 0 {
		return Seen{Refused: true}, nil
	}
	return seen, err
}

func (c *caller) id() string { return fmt.Sprintf("%d-%d", c.line.Number, c.sent) }

func (c *caller) script() string {
	var words []string
	for _, a := range c.line.Answers {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

func (c *caller) request(ctx context.Context) (Seen, error) {
	r := c.line.Request
	path, query, _ := strings.Cut(r.Path, "?")
	u := &url.URL{
		Scheme: r.Scheme, Host: c.to.String(), Path: path, RawQuery: query, ForceQuery: strings.HasSuffix(r.Path, "?"),
	}
	if !strings.HasPrefix(path, "//") {
		u.Opaque = path // as it stands, however odd
	}
	request := (&http.Request{Method: r.Method, URL: u, Host: r.Host, Header: http.Header{}}).WithContext(ctx)
	for _, h := range r.Headers {
		request.Header.Add(h.Name, h.Value)
	}
	request.Header.Set(idHeader, c.id())
	request.Header.Set(scriptHeader, c.script())
	response, err := c.http.RoundTrip(request)
	if err != nil {
		return Seen{}, err
	}
	defer response.Body.Close()
	seen := Seen{Answer: strconv.Itoa(response.StatusCode)}
	if _, err := io.Copy(io.Discard, response.Body); ctx.Err() != nil {
		return Seen{}, err
	} else if err != nil {
		seen.Answer = broken
	}
	return seen, decodeGot(response.Header.Get(gotHeader), &seen.Got)
}

func (c *caller) call(ctx context.Context) (Seen, error) {
	r := c.line.Request
	conn, err := grpc.NewClient("passthrough:///"+c.to.String(), grpc.WithAuthority(r.Host), grpc.WithDisableRetry(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(c.connect))
	if err != nil {
		return Seen{}, err
	}
	defer conn.Close()
	for _, h := range r.Headers {
		ctx = metadata.AppendToOutgoingContext(ctx, h.Name, h.Value)
	}
	ctx = metadata.AppendToOutgoingContext(ctx, idHeader, c.id(), scriptHeader, c.script())
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, r.Path)
	if err != nil {
		return Seen{}, err
	}
	_ = stream.SendMsg(&emptypb.Empty{}) // what comes back says what is wrong
	_ = stream.CloseSend()
	for err == nil {
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	seen := Seen{Answer: "ok"}
	if s, _ := status.FromError(err); err != nil {
		seen.Answer = fmt.Sprintf("%s (%s)", s.Code(), s.Message())
		for name, code := range grpcCodes {
			if uint32(code) == uint32(s.Code()) {
				seen.Answer = name
			}
		}
		if c.received.Load() == 0 {
			return Seen{}, err
		}
	}
	got := stream.Trailer().Get(gotHeader)
	if header, _ := stream.Header(); len(got) == 0 && len(header.Get(gotHeader)) > 0 {
		got, seen.Answer = header.Get(gotHeader), broken // the server did not come to its end
	}
	if len(got) == 0 {
		return seen, nil
	}
	return seen, decodeGot(got[0], &seen.Got)
}

// stream waits for the server to speak, then says how it wants to be answered.
func (c *caller) stream(ctx context.Context) (Seen, error) {
	conn, err := c.connect(ctx, c.to.String())
	if err != nil {
		return Seen{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return Seen{}, err
	}
	if name := c.line.Request.ServerName; name != "" {
		// whoever answers, it says who it is
		conn = tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	}
	server := bufio.NewReader(conn)
	greeting, err := server.ReadString('\n')
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Answer: broken}
	if err := decodeGot(greeting, &seen.Got); err != nil {
		return Seen{}, err
	}
	if _, err := io.WriteString(conn, c.script()+"\n"); err != nil {
		return Seen{}, err
	}
	text, err := io.ReadAll(server)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Seen{}, err
	}
	if strings.TrimSpace(string(text)) == whole {
		seen.Answer = whole
	}
	return seen, nil
}

func decodeGot(text string, into *Got) error {
	if text == "" {
		return nil // the answer is the sidecar's own
	}
	return json.Unmarshal([]byte(text), into)
}
