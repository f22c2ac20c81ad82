package conformance

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
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"anymesh.dev/anymesh/model"
)

// Headers by which the client numbers its requests and says how they are to be answered, and by which a server tells
// what it got.
const (
	idHeader     = "x-seam-id"
	scriptHeader = "x-seam-script"
	gotHeader    = "x-seam-got"
)

// Got is what a server saw of a request.
type Got struct {
	// Who is the name of the server, At the address that it was reached at.
	Who    string
	At     string
	Method string
	Path   string
	Host   string
}

// tally counts how often each request came to a server.
type tally struct {
	mu    sync.Mutex
	tries map[string]int
}

func (t *tally) add(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tries[id]++
	return t.tries[id]
}

func (t *tally) of(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tries[id]
}

// server plays a destination, the application or the world outside.
type server struct {
	who   string
	tally *tally
}

// serve answers on a listener in a protocol.
func (t *tally) serve(l net.Listener, who string, p model.Protocol) {
	s := &server{who: who, tally: t}
	switch p {
	case model.TCP:
		go s.greet(l)
	case tlsProtocol:
		go s.greet(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{selfSigned()}}))
	case model.GRPC:
		g := grpc.NewServer(grpc.UnknownServiceHandler(s.call))
		go func() { _ = g.Serve(l) }() // until the process ends
	default:
		both := new(http.Protocols)
		both.SetHTTP1(p == model.HTTP || p == anyProtocol)
		both.SetUnencryptedHTTP2(p == model.HTTP2 || p == anyProtocol)
		h := &http.Server{Handler: s, Protocols: both, ReadHeaderTimeout: time.Minute}
		go func() { _ = h.Serve(l) }() // until the process ends
	}
}

// Protocols of the world outside: HTTP of whatever version, and streams within TLS.
const (
	anyProtocol model.Protocol = "any"
	tlsProtocol model.Protocol = "tls"
)

// greet speaks first, as many protocols' servers do. Then the client says in a line how it wants to be answered.
func (s *server) greet(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_ = s.converse(conn) // the client notices
		}()
	}
}

func (s *server) converse(conn net.Conn) error {
	if err := json.NewEncoder(conn).Encode(Got{Who: s.who, At: conn.LocalAddr().String()}); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	script, err := parseAnswers(line)
	if err != nil {
		return err
	}
	a := answer(script, 1, model.TCP)
	for _, pause := range append([]time.Duration{a.After}, a.Pauses...) {
		wait(context.Background(), pause)
		if _, err := io.WriteString(conn, "\n"); err != nil {
			return err
		}
	}
	_, err = io.WriteString(conn, a.Status)
	return err
}

// ServeHTTP answers as the request's script says.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	got := Got{Who: s.who, At: at.String(), Method: r.Method, Path: r.RequestURI, Host: r.Host}
	script, err := parseAnswers(r.Header.Get(scriptHeader))
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	a := answer(script, s.tally.add(r.Header.Get(idHeader)), model.HTTP)
	if a.Reset {
		panic(http.ErrAbortHandler)
	}
	if !wait(r.Context(), a.After) {
		return
	}
	text, _ := json.Marshal(got) // plain strings
	w.Header().Set(gotHeader, string(text))
	code, _ := strconv.Atoi(a.Status) // it was parsed before
	w.WriteHeader(code)
	for _, pause := range a.Pauses {
		if err := http.NewResponseController(w).Flush(); err != nil || !wait(r.Context(), pause) {
			return
		}
		_, _ = io.WriteString(w, "\n") // the client notices
	}
}

// call answers a gRPC call of whatever service: with one message, or with one after each pause.
func (s *server) call(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	md, _ := metadata.FromIncomingContext(stream.Context())
	value := func(name string) string {
		if v := md.Get(name); len(v) > 0 {
			return v[0]
		}
		return ""
	}
	got := Got{Who: s.who, Method: http.MethodPost, Path: method, Host: value(":authority")}
	script, err := parseAnswers(value(scriptHeader))
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	a := answer(script, s.tally.add(value(idHeader)), model.GRPC)
	if a.Reset {
		return status.Error(codes.InvalidArgument, "a gRPC server cannot break a connection at will")
	}
	if !wait(stream.Context(), a.After) {
		return status.FromContextError(stream.Context().Err()).Err()
	}
	if from, ok := peer.FromContext(stream.Context()); ok && from.LocalAddr != nil {
		got.At = from.LocalAddr.String()
	}
	text, _ := json.Marshal(got) // plain strings
	stream.SetTrailer(metadata.Pairs(gotHeader, string(text)))
	if len(a.Pauses) > 0 { // else there would be an answer, and no second try
		if err := stream.SendHeader(metadata.Pairs(gotHeader, string(text))); err != nil {
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
		return status.Error(codes.Code(code), "as the script says")
	}
	if len(a.Pauses) > 0 {
		return nil
	}
	return stream.SendMsg(&emptypb.Empty{})
}

// wait says whether the caller is still there afterwards.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// selfSigned is a certificate that nobody trusts.
func selfSigned() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(fmt.Sprintf("seam: making a key: %v", err))
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(fmt.Sprintf("seam: signing a certificate: %v", err))
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
