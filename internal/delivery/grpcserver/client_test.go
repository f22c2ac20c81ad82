package grpcserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// rawCodec is a gRPC codec that sends byte slices unchanged.
type rawCodec struct{}

func (rawCodec) Name() string { return "plain" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// dial creates a client connection of grpc-go.
func dial(t testing.TB, r *testServer, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+r.address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{}), grpc.MaxCallRecvMsgSize(64<<20)),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// openStream opens a stream without END_STREAM.
func openStream(t testing.TB, conn *grpc.ClientConn, method string, options ...grpc.CallOption) grpc.ClientStream {
	t.Helper()
	s, err := newStream(t, conn, method, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newStream is openStream for any goroutine.
func newStream(
	t testing.TB, conn *grpc.ClientConn, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, options...)
}

func receive(s grpc.ClientStream) (message []byte, err error) {
	err = s.RecvMsg(&message)
	return message, err
}

// checkEcho checks that a new stream of the client is served.
func checkEcho(t testing.TB, conn *grpc.ClientConn) {
	t.Helper()
	s := openStream(t, conn, echoMethod)
	if err := s.SendMsg([]byte("hello")); err != nil {
		t.Error(err)
	}
	if got, err := receive(s); string(got) != "hello" {
		t.Errorf("got echo %q, error %v", got, err)
	}
	s.CloseSend()
	if _, err := receive(s); !errors.Is(err, io.EOF) {
		t.Errorf("got error %v at the end of the stream", err)
	}
}

func randomBytes(seed uint64, size int) []byte {
	b := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = rng.Read(b) // never fails
	return b
}

// forEachTransport runs a test with and without TLS, and with large and small windows.
func forEachTransport(t *testing.T, o Options, each func(t *testing.T, conn *grpc.ClientConn)) {
	serverSide, clientSide := tlsConfigs(t)
	secure := grpc.WithTransportCredentials(credentials.NewTLS(clientSide))
	small := []grpc.DialOption{grpc.WithInitialWindowSize(65535), grpc.WithInitialConnWindowSize(65535)}
	for name, tt := range map[string]struct {
		tls     *tls.Config
		options []grpc.DialOption
	}{
		"without TLS":               {nil, nil},
		"without TLS, small window": {nil, small},
		"TLS":                       {serverSide, []grpc.DialOption{secure}},
		"TLS, small window":         {serverSide, append(small, secure)},
		"TLS, configured for each":  {&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return serverSide, nil }}, []grpc.DialOption{secure}},
	} {
		t.Run(name, func(t *testing.T) {
			o.TLS = tt.tls
			each(t, dial(t, startServer(t, listenLoopback(t), o), tt.options...))
		})
	}
}

var echoMethods = map[string]func(*Stream) StreamHandler{echoMethod: echo}

func TestMessageSizes(t *testing.T) {
	sizes := []int{0, 1, 1 << 20}
	for n := 16379; n <= 16390; n++ {
		sizes = append(sizes, n)
	}
	for n := 65529; n <= 65536; n++ {
		sizes = append(sizes, n)
	}
	forEachTransport(t, Options{Methods: echoMethods}, func(t *testing.T, conn *grpc.ClientConn) {
		s := openStream(t, conn, echoMethod)
		for i, size := range sizes {
			want := randomBytes(uint64(i), size)
			if err := s.SendMsg(want); err != nil {
				t.Fatal(err)
			}
			if got, err := receive(s); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("received %[2]d of %[1]d bytes, error %[3]v", size, len(got), err)
			}
		}
		s.CloseSend()
		if _, err := receive(s); !errors.Is(err, io.EOF) {
			t.Errorf("got error %v at the end of the stream", err)
		}
	})
}

func TestLargeResponses(t *testing.T) {
	part := randomBytes(1, 1<<20)
	large := func(s *Stream) StreamHandler {
		return handlerFuncs{onMessage: func([]byte) {
			parts := make([][]byte, 20)
			for i := range parts {
				parts[i] = part
			}
			s.Finish(s.Send(parts...))
		}, onEnd: s.Finish}
	}
	forEachTransport(t, Options{Methods: map[string]func(*Stream) StreamHandler{"/large": large}},
		func(t *testing.T, conn *grpc.ClientConn) {
			s := openStream(t, conn, "/large")
			s.SendMsg([]byte{})
			got, err := receive(s)
			if err != nil || len(got) != 20<<20 {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			for len(got) > 0 {
				if !bytes.HasPrefix(got, part) {
					t.Fatal("received other bytes")
				}
				got = got[len(part):]
			}
			if _, err := receive(s); !errors.Is(err, io.EOF) {
				t.Errorf("got error %v at the end of the stream", err)
			}
		})
}

func TestConcurrentStreams(t *testing.T) {
	forEachTransport(t, Options{Methods: echoMethods}, func(t *testing.T, conn *grpc.ClientConn) {
		var all sync.WaitGroup
		for i := range 10 {
			s := openStream(t, conn, echoMethod)
			sizes := rand.New(rand.NewPCG(uint64(i), 7))
			want := make(chan []byte, 30)
			all.Go(func() {
				defer close(want)
				for n := range 30 {
					message := randomBytes(uint64(i+n), sizes.IntN(50_000))
					want <- message
					if err := s.SendMsg(message); err != nil {
						t.Errorf("stream %d: %v", i, err)
						return
					}
				}
				s.CloseSend()
			})
			all.Go(func() {
				for message := range want {
					if got, err := receive(s); err != nil || !bytes.Equal(got, message) {
						t.Errorf("stream %d: sent %d bytes, received %d, error %v", i, len(message), len(got), err)
					}
				}
				if _, err := receive(s); !errors.Is(err, io.EOF) {
					t.Errorf("stream %d: got error %v at the end", i, err)
				}
			})
		}
		all.Wait()
	})
}

func TestStatus(t *testing.T) {
	long := strings.Repeat("ä", 10_000)
	for name, tt := range map[string]struct {
		end  error
		code codes.Code
		text string
	}{
		"OK":                                {nil, codes.OK, ""},
		"no text":                           {status.Error(codes.NotFound, ""), codes.NotFound, ""},
		"text":                              {status.Error(codes.DataLoss, "what is lost"), codes.DataLoss, "what is lost"},
		"more than ASCII":                   {status.Error(codes.Aborted, "größer als 50 %, 漢"), codes.Aborted, "größer als 50 %, 漢"},
		"looks escaped":                     {status.Error(codes.Aborted, "%41%zz%"), codes.Aborted, "%41%zz%"},
		"control characters":                {status.Error(codes.Internal, "one\r\ntwo\x00\x7f"), codes.Internal, "one\r\ntwo\x00\x7f"},
		"highest code":                      {status.Error(codes.Unauthenticated, "who?"), codes.Unauthenticated, "who?"},
		"unknown code":                      {status.Error(123, "own"), 123, "own"},
		"no gRPC status":                    {errors.New("any"), codes.Unknown, "any"},
		"wrapped status":                    {fmt.Errorf("wrapped: %w", status.Error(codes.NotFound, "it")), codes.NotFound, "wrapped: rpc error: code = NotFound desc = it"},
		"long text":                         {status.Error(codes.Internal, long), codes.Internal, long[:maxStatusMessage]},
		"long text truncated within a rune": {status.Error(codes.Internal, "x"+long), codes.Internal, "x" + long[:maxStatusMessage-2]},
	} {
		for when, messages := range map[string]int{"": 0, ", after a message": 1} {
			t.Run(name+when, func(t *testing.T) {
				r := startServer(t, listenLoopback(t),
					Options{Methods: map[string]func(*Stream) StreamHandler{"/end": func(s *Stream) StreamHandler {
						return handlerFuncs{onMessage: func(m []byte) {
							for range messages {
								_ = s.Send(m)
							}
							s.Finish(tt.end)
							s.Finish(errors.New("only the first counts"))
						}, onEnd: func(error) { t.Error("OnEnd after Finish") }}
					}}})
				s := openStream(t, dial(t, r), "/end")
				s.SendMsg([]byte("x"))
				for range messages {
					if _, err := receive(s); err != nil {
						t.Fatal(err)
					}
				}
				_, err := receive(s)
				if errors.Is(err, io.EOF) {
					err = nil
				}
				if got := status.Convert(err); got.Code() != tt.code || got.Message() != tt.text {
					t.Errorf("got %v %.100q, want %v %.100q", got.Code(), got.Message(), tt.code, tt.text)
				}
			})
		}
	}
}

func TestUnsupportedRequests(t *testing.T) {
	r := startServer(t, listenLoopback(t), Options{Methods: echoMethods, MaxRecvMsgSize: 1000})
	conn := dial(t, r)
	for name, tt := range map[string]struct {
		method  string
		message []byte
		options []grpc.CallOption
		want    codes.Code
	}{
		"an unknown method":       {"/test.Test/No", nil, nil, codes.Unimplemented},
		"an unknown service":      {"/" + strings.Repeat("x", 1000), nil, nil, codes.Unimplemented},
		"compression":             {echoMethod, randomBytes(1, 100), []grpc.CallOption{grpc.UseCompressor(gzip.Name)}, codes.Unimplemented},
		"a too large message":     {echoMethod, randomBytes(1, 1001), nil, codes.ResourceExhausted},
		"a message far too large": {echoMethod, randomBytes(1, 1<<20), nil, codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			other := openStream(t, conn, echoMethod)
			s := openStream(t, conn, tt.method, tt.options...)
			s.SendMsg(tt.message) // the end of the stream has the error
			if _, err := receive(s); status.Code(err) != tt.want {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
			other.SendMsg(randomBytes(2, 1000))
			if got, err := receive(other); len(got) != 1000 {
				t.Errorf("another stream of the connection: got error %v", err)
			}
			checkEcho(t, conn)
		})
	}
}
