package observe

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"anymesh.dev/anymesh/model"
)

// Headers with the ID of a request and its response script, and with the request as the server received it.
const (
	idHeader       = "x-test-id"
	scriptHeader   = "x-test-script"
	receivedHeader = "x-test-got"
	// holdHeader asks for no response until the client cancels the request.
	holdHeader = "x-test-hold"
)

// Received is the request as the server received it.
type Received struct {
	// Server is the name of the server, At its local address.
	Server string
	At     string
	Method string
	Path   string
	Host   string
}

// requestCounter counts the tries of each request.
type requestCounter struct {
	mu    sync.Mutex
	tries map[string]int
}

func (t *requestCounter) add(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tries[id]++
	return t.tries[id]
}

func (t *requestCounter) count(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tries[id]
}

// server is a destination, the application or an external server.
type server struct {
	name    string
	counter *requestCounter
	// unhealthy makes it fail health checks: requests without an ID.
	unhealthy bool
}

// serve starts a server for a protocol, with TLS if secured is not nil.
func (s *server) serve(l net.Listener, p model.Protocol, secured *tls.Config) {
	if secured != nil {
		secured.NextProtos = applicationProtocols(p)
		l = tls.NewListener(l, secured)
	}
	switch p {
	case model.TCP:
		go s.acceptStreams(l)
	case tlsProtocol:
		go s.acceptStreams(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{selfSigned()}}))
	case model.GRPC:
		g := grpc.NewServer(grpc.UnknownServiceHandler(s.serveGRPC))
		state := health.NewServer()
		if s.unhealthy {
			state.Shutdown()
		}
		healthv1.RegisterHealthServer(g, state)
		go func() { _ = g.Serve(l) }() // until the process ends
	default:
		both := new(http.Protocols)
		both.SetHTTP1(p == model.HTTP || p == anyProtocol)
		both.SetHTTP2(p == model.HTTP2)
		both.SetUnencryptedHTTP2(p == model.HTTP2 || p == anyProtocol)
		h := &http.Server{Handler: s, Protocols: both, ReadHeaderTimeout: time.Minute}
		go func() { _ = h.Serve(l) }() // until the process ends
	}
}

// Protocols of external servers: HTTP/1.1 and HTTP/2, and streams in TLS.
const (
	anyProtocol model.Protocol = "any"
	tlsProtocol model.Protocol = "tls"
)

// acceptStreams serves streams: the server sends a greeting, the client sends the response script.
func (s *server) acceptStreams(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_ = s.serveStream(conn) // the client detects the error
		}()
	}
}

func (s *server) serveStream(conn net.Conn) error {
	if err := json.NewEncoder(conn).Encode(Received{Server: s.name, At: conn.LocalAddr().String()}); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	script, err := parseResponses(line)
	if err != nil {
		return err
	}
	a := responseOf(script, 1, model.TCP)
	for _, pause := range append([]time.Duration{a.After}, a.Pauses...) {
		wait(context.Background(), pause)
		if _, err := io.WriteString(conn, "\n"); err != nil {
			return err
		}
	}
	_, err = io.WriteString(conn, a.Status)
	return err
}

// ServeHTTP responds according to the script of the request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	got := Received{Server: s.name, At: at.String(), Method: r.Method, Path: r.RequestURI, Host: r.Host}
	script, err := parseResponses(r.Header.Get(scriptHeader))
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	if s.unhealthy && r.Header.Get(idHeader) == "" {
		http.Error(w, "unhealthy", http.StatusServiceUnavailable)
		return
	}
	if r.Header.Get(holdHeader) != "" {
		s.counter.add(holdHeader)
		<-r.Context().Done()
		return
	}
	a := responseOf(script, s.counter.add(r.Header.Get(idHeader)), model.HTTP)
	if a.Reset {
		panic(http.ErrAbortHandler)
	}
	if !wait(r.Context(), a.After) {
		return
	}
	text, _ := json.Marshal(got) // plain strings
	w.Header().Set(receivedHeader, string(text))
	code, _ := strconv.Atoi(a.Status) // it was parsed before
	w.WriteHeader(code)
	for _, pause := range a.Pauses {
		if err := http.NewResponseController(w).Flush(); err != nil || !wait(r.Context(), pause) {
			return
		}
		_, _ = io.WriteString(w, "\n") // the client detects the error
	}
}

// serveGRPC responds to any gRPC method with one message, or with one message after each pause.
func (s *server) serveGRPC(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	md, _ := metadata.FromIncomingContext(stream.Context())
	value := func(name string) string {
		if v := md.Get(name); len(v) > 0 {
			return v[0]
		}
		return ""
	}
	got := Received{Server: s.name, Method: http.MethodPost, Path: method, Host: value(":authority")}
	script, err := parseResponses(value(scriptHeader))
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if value(holdHeader) != "" {
		s.counter.add(holdHeader)
		<-stream.Context().Done()
		return nil
	}
	a := responseOf(script, s.counter.add(value(idHeader)), model.GRPC)
	if a.Reset {
		return status.Error(codes.InvalidArgument, "reset is not supported for gRPC")
	}
	if !wait(stream.Context(), a.After) {
		return status.FromContextError(stream.Context().Err()).Err()
	}
	if from, ok := peer.FromContext(stream.Context()); ok && from.LocalAddr != nil {
		got.At = from.LocalAddr.String()
	}
	text, _ := json.Marshal(got) // plain strings
	stream.SetTrailer(metadata.Pairs(receivedHeader, string(text)))
	if len(a.Pauses) > 0 { // without pauses, headers would prevent a second try
		if err := stream.SendHeader(metadata.Pairs(receivedHeader, string(text))); err != nil {
			return err
		}
	}
	for _, pause := range a.Pauses {
		if !wait(stream.Context(), pause) {
			return status.FromContextError(stream.Context().Err()).Err()
		}
		if err := stream.SendMsg(&emptypb.Empty{}); err != nil {
			return err
		}
	}
	if code := grpcCodes[a.Status]; code != 0 {
		return status.Error(codes.Code(code), "status of the script")
	}
	if len(a.Pauses) > 0 {
		return nil
	}
	return stream.SendMsg(&emptypb.Empty{})
}

// wait waits and reports whether the context is still active.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// selfSigned returns a self-signed certificate.
func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(fmt.Sprintf("conformance: making a key: %v", err))
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(fmt.Sprintf("conformance: signing a certificate: %v", err))
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
