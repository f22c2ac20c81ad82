package identity

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipeListener accepts one end of each pipe, wrapped as gRPC servers do.
type pipeListener struct{ conns chan net.Conn }

func (l pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

type wrappedConn struct{ net.Conn }

// clientTLSConfig returns a client configuration with a certificate of the CA.
func clientTLSConfig(t testing.TB, ca *CA, ttl time.Duration) *tls.Config {
	t.Helper()
	key := newKey(t)
	issued, err := ca.Sign(newCSR(t, key, &x509.CertificateRequest{}), blue, ttl)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(issued.CertificatePEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		RootCAs: ca.Bundle().Pool(), ServerName: "anymesh.test", Certificates: []tls.Certificate{pair},
		MinVersion:         tls.VersionTLS13,
		ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}
}

// A connection is closed exactly when the certificate of its client expires.
func TestConnectionClosesOnCertificateExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := testCA(t)
		serving, err := ca.IssueServingCertificate([]string{"anymesh.test"})
		if err != nil {
			t.Fatal(err)
		}
		l := pipeListener{make(chan net.Conn)}
		ending := CloseOnCertificateExpiry(l)
		go func() {
			for {
				raw, err := ending.Accept()
				if err != nil {
					return
				}
				conn := tls.Server(wrappedConn{raw}, serving.MutualTLSConfig())
				go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
			}
		}()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		began := time.Now()
		conn := tls.Client(ours, clientTLSConfig(t, ca, time.Hour))
		echo := func() error {
			if _, err := conn.Write([]byte("x")); err != nil {
				return err
			}
			_, err := io.ReadFull(conn, make([]byte, 1))
			return err
		}
		for time.Since(began) < 59*time.Minute {
			if err := echo(); err != nil {
				t.Fatalf("after %s: %v", time.Since(began), err)
			}
			time.Sleep(7 * time.Minute)
		}
		time.Sleep(time.Hour + 2*time.Second - time.Since(began))
		if err := echo(); err == nil {
			t.Error("the connection is open after the certificate has expired")
		}
		_ = conn.Close()
		close(l.conns)
	})
}

// Each handshake uses the current bundle, and no session is resumed.
func TestMutualTLSUsesCurrentBundle(t *testing.T) {
	first, second := testCA(t), testCA(t)
	var now atomic.Pointer[CA]
	now.Store(first)
	serving, err := NewServingCertificate(caFunc(now.Load), []string{"anymesh.test"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", serving.MutualTLSConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	greet := func(config *tls.Config) error {
		conn, err := tls.Dial("tcp", l.Addr().String(), config)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("x")); err != nil {
			return err
		}
		_, err = io.ReadFull(conn, make([]byte, 1))
		if conn.ConnectionState().DidResume {
			t.Error("a session was resumed")
		}
		return err
	}
	old, fresh := clientTLSConfig(t, first, time.Hour), clientTLSConfig(t, second, time.Hour)
	fresh.RootCAs = first.Bundle().Union(second.Bundle()).Pool()
	old.RootCAs = fresh.RootCAs
	for phase, c := range map[string]struct {
		signer     *CA
		bundle     *Bundle
		old, fresh bool
	}{
		"1 the old root alone": {first, first.Bundle(), true, false},
		"2 published":          {first, first.Bundle().Union(second.Bundle()), true, true},
		"3 retiring":           {second, first.Bundle().Union(second.Bundle()), true, true},
		"4 the new root alone": {second, second.Bundle(), false, true},
	} {
		t.Run(phase, func(t *testing.T) {
			ca := *c.signer
			ca.bundle = c.bundle
			now.Store(&ca)
			if err := greet(old); (err == nil) != c.old {
				t.Errorf("a certificate of the old root: %v", err)
			}
			if err := greet(fresh); (err == nil) != c.fresh {
				t.Errorf("a certificate of the new root: %v", err)
			}
		})
	}
	if err := greet(&tls.Config{RootCAs: fresh.RootCAs, ServerName: "anymesh.test"}); err == nil {
		t.Error("a client without a certificate got in")
	}
}

type caFunc func() *CA

func (f caFunc) Current() *CA { return f() }
