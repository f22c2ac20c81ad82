package grpcserver

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// tlsConfigs returns the TLS configuration of a server with a new certificate, and that of its clients.
func tlsConfigs(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"server"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{RootCAs: trusted, ServerName: "server"}
}

func TestClientsWithoutHTTP2AreRefused(t *testing.T) {
	serverSide, clientSide := tlsConfigs(t)
	for name, tt := range map[string]struct {
		tls *tls.Config
		try func(address string) error
	}{
		"TLS without ALPN": {serverSide, func(address string) error {
			conn, err := tls.Dial("tcp", address, clientSide)
			if err == nil {
				defer conn.Close()
				_, err = conn.Read(make([]byte, 1))
			}
			return err
		}},
		"HTTP/1 over TLS": {serverSide, func(address string) error {
			own := clientSide.Clone()
			own.NextProtos = []string{"http/1.1"}
			conn, err := tls.Dial("tcp", address, own)
			if err == nil {
				defer conn.Close()
				_, err = conn.Read(make([]byte, 1))
			}
			return err
		}},
		"no TLS to a TLS server": {serverSide, func(address string) error {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return nil // reported below
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, http2.ClientPreface)
			answer, _ := io.ReadAll(conn)
			if len(answer) == 0 || answer[0] == 21 { // an alert
				return io.EOF
			}
			return nil
		}},
		"TLS to a server without TLS": {nil, func(address string) error {
			conn, err := tls.Dial("tcp", address, clientSide)
			if err == nil {
				conn.Close()
			}
			return err
		}},
		"HTTP/1": {nil, func(address string) error {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return nil // reported below
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: server\r\n\r\n")
			_, err = http.ReadResponse(bufio.NewReader(conn), nil)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := startServer(t, listenLoopback(t), Options{TLS: tt.tls, Methods: echoMethods})
			if err := tt.try(r.address); err == nil {
				t.Error("the client was served")
			}
			eventually(t, "the connection is refused",
				func() bool { return slices.Equal(r.refusalReasons(), []RefusalReason{RefusedHandshake}) })
			var options []grpc.DialOption
			if tt.tls != nil {
				options = append(options, grpc.WithTransportCredentials(credentials.NewTLS(clientSide)))
			}
			checkEcho(t, dial(t, r, options...))
		})
	}
}

func TestMaxConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRawServer(t, Options{MaxConnections: 2})
		first, second, third := connect(t, h.listener), connectRaw(t, h.listener), connectRaw(t, h.listener)
		third.expectEvents("closed")
		if got := h.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedMaxConnections}) {
			t.Errorf("got refusals %q", got)
		}
		second.close() // counts before the preface, too
		synctest.Wait()
		checkRawEcho(connect(t, h.listener), 1)
		checkRawEcho(first, 1)
	})
}

// failingListener is a listener whose first Accept calls fail, as without free file descriptors.
type failingListener struct {
	net.Listener
	remaining atomic.Int32
	err       error
}

func (f *failingListener) Accept() (net.Conn, error) {
	if f.remaining.Add(-1) >= 0 {
		return nil, f.err
	}
	return f.Listener.Accept()
}

func (f *failingListener) Close() error {
	f.remaining.Store(0)
	return f.Listener.Close()
}

func TestTemporaryAcceptErrorIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		f := &failingListener{Listener: l, err: &net.OpError{Op: "accept", Err: syscall.EMFILE}}
		f.remaining.Store(20)
		began := time.Now()
		startServer(t, f, Options{Methods: echoMethods})
		checkRawEcho(connect(t, l), 1)
		if d := time.Since(began); d < 10*maxAcceptBackoff || d > 20*maxAcceptBackoff {
			t.Errorf("accepted after %v", d)
		}
	})
}

func TestPermanentAcceptErrorStopsServe(t *testing.T) {
	l := listenLoopback(t)
	f := &failingListener{Listener: l, err: errors.New("no longer")}
	f.remaining.Store(1)
	err := Serve(t.Context(), f, Options{})
	if err == nil || !strings.Contains(err.Error(), "no longer") || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("Serve: got error %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is not closed: %v", err)
	}
}

// Handlers in any state end with the server.
func TestServeStopsWithContext(t *testing.T) {
	for name, tt := range map[string]struct {
		take     func(s *Stream)
		send     int
		failures int32
	}{
		"idle stream":                      {func(*Stream) {}, 0, 0},
		"message being handled":            {func(s *Stream) { <-s.Context().Done() }, 0, 0},
		"Send blocked":                     {func(s *Stream) { _ = s.Send(make([]byte, 1<<20)) }, 0, 0},
		"messages queued behind the first": {func(s *Stream) { <-s.Context().Done() }, 50, 0},
		"no file descriptors":              {nil, 0, 1 << 30},
		"no connection":                    {nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ends := 0
				l := newPipeListener()
				f := &failingListener{Listener: l, err: &net.OpError{Op: "accept", Err: syscall.EMFILE}}
				f.remaining.Store(tt.failures)
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error)
				go func() {
					handler := func(s *Stream) StreamHandler {
						return handlerFuncs{onMessage: func([]byte) { tt.take(s) }, onEnd: func(err error) {
							ends++
							s.Finish(err)
						}}
					}
					served <- Serve(ctx, f, Options{Methods: map[string]func(*Stream) StreamHandler{muteMethod: handler}})
				}()
				if tt.take != nil {
					p := connect(t, l)
					p.open(1, muteMethod)
					for range tt.send + 1 {
						p.send(1, 1, false)
					}
					p.takeEvents()
				}
				synctest.Wait()
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
				if tt.take != nil && ends != 1 {
					t.Errorf("OnEnd was called %d times", ends)
				}
			})
		})
	}
}
