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

// certificate is that of a server, and the configuration of clients that trust it.
func certificate(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"server"}, IsCA: true, BasicConstraintsValid: true}
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
	serverSide, clientSide := certificate(t)
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
		"no TLS where it is demanded": {serverSide, func(address string) error {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return nil // which fails below
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, http2.ClientPreface)
			answer, _ := io.ReadAll(conn)
			if len(answer) == 0 || answer[0] == 21 { // an alert
				return io.EOF
			}
			return nil
		}},
		"TLS where there is none": {nil, func(address string) error {
			conn, err := tls.Dial("tcp", address, clientSide)
			if err == nil {
				conn.Close()
			}
			return err
		}},
		"HTTP/1": {nil, func(address string) error {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return nil // which fails below
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: server\r\n\r\n")
			_, err = http.ReadResponse(bufio.NewReader(conn), nil)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, loopback(t), Options{TLS: tt.tls, Methods: echoing})
			if err := tt.try(r.address); err == nil {
				t.Error("it was served")
			}
			eventually(t, "it is refused", func() bool { return slices.Equal(r.refusals(), []Refusal{Handshake}) })
			var options []grpc.DialOption
			if tt.tls != nil {
				options = append(options, grpc.WithTransportCredentials(credentials.NewTLS(clientSide)))
			}
			echoes(t, dial(t, r, options...))
		})
	}
}

func TestNoMoreConnectionsThanAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHostile(t, Options{Connections: 2})
		first, second, third := connect(t, h.l), silent(t, h.l), silent(t, h.l)
		third.expect("closed")
		if got := h.refusals(); !slices.Equal(got, []Refusal{Full}) {
			t.Errorf("refused %q", got)
		}
		second.close() // it counted, though it had said nothing
		synctest.Wait()
		answers(connect(t, h.l), 1)
		answers(first, 1)
	})
}

// failing is a listener that fails before each connection, as when the system has no descriptors left.
type failing struct {
	net.Listener
	times atomic.Int32
	err   error
}

func (f *failing) Accept() (net.Conn, error) {
	if f.times.Add(-1) >= 0 {
		return nil, f.err
	}
	return f.Listener.Accept()
}

func (f *failing) Close() error {
	f.times.Store(0)
	return f.Listener.Close()
}

func TestFailuresThatPassAreSurvived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		f := &failing{Listener: l, err: &net.OpError{Op: "accept", Err: syscall.EMFILE}}
		f.times.Store(20)
		began := time.Now()
		start(t, f, Options{Methods: echoing})
		answers(connect(t, l), 1)
		if d := time.Since(began); d < 10*longest || d > 20*longest {
			t.Errorf("it took %v", d)
		}
	})
}

func TestOtherFailuresEndIt(t *testing.T) {
	l := loopback(t)
	f := &failing{Listener: l, err: errors.New("no longer")}
	f.times.Store(1)
	err := Serve(t.Context(), f, Options{})
	if err == nil || !strings.Contains(err.Error(), "no longer") || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("Serve: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener: %v", err)
	}
}

// Whatever calls are doing, they end with the server.
func TestServeEndsWithItsContext(t *testing.T) {
	for name, tt := range map[string]struct {
		take     func(s *Stream)
		send     int
		failures int32
	}{
		"while nothing happens":                {func(*Stream) {}, 0, 0},
		"while a message is taken in":          {func(s *Stream) { <-s.Context().Done() }, 0, 0},
		"while the client takes no more":       {func(s *Stream) { _ = s.Send(make([]byte, 1<<20)) }, 0, 0},
		"while messages wait behind the first": {func(s *Stream) { <-s.Context().Done() }, 50, 0},
		"while the system has no descriptors":  {nil, 0, 1 << 30},
		"while nobody has come":                {nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ends := 0
				l := newPipes()
				f := &failing{Listener: l, err: &net.OpError{Op: "accept", Err: syscall.EMFILE}}
				f.times.Store(tt.failures)
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error)
				go func() {
					served <- Serve(ctx, f, Options{Methods: map[string]func(*Stream) Call{muteMethod: func(s *Stream) Call {
						return functions{take: func([]byte) { tt.take(s) }, end: func(err error) {
							ends++
							s.Finish(err)
						}}
					}}})
				}()
				if tt.take != nil {
					p := connect(t, l)
					p.open(1, muteMethod)
					for range tt.send + 1 {
						p.send(1, 1, false)
					}
					p.saw()
				}
				synctest.Wait()
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
				if tt.take != nil && ends != 1 {
					t.Errorf("the call ended %d times", ends)
				}
			})
		})
	}
}
