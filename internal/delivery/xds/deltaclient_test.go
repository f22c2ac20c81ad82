package xds

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log/slog"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"anymesh.dev/anymesh/test/poll"
)

// testCA signs the certificates of one test.
type testCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newTestCA(t testing.TB) *testCA {
	t.Helper()
	a := &testCA{}
	a.cert, a.key = sign(t, nil, &x509.Certificate{
		Subject: pkix.Name{CommonName: "root"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
		NotAfter: time.Now().Add(time.Hour),
	})
	return a
}

func sign(t testing.TB, by *testCA, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // there is no invalid input
	}
	template.SerialNumber, template.BasicConstraintsValid = big.NewInt(time.Now().UnixNano()), true
	template.NotBefore = time.Now().Add(-time.Minute)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		panic(err) // there is no invalid input
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err) // there is no invalid input
	}
	return cert, key
}

func (a *testCA) leaf(t testing.TB, name string, lifetime time.Duration) tls.Certificate {
	t.Helper()
	cert, key := sign(t, a, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter:    time.Now().Add(lifetime),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

func (a *testCA) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// testServer is a server on a TCP socket with mutual TLS.
type testServer struct {
	*Server
	addr string
	ca   *testCA
	stop context.CancelFunc // starts the shutdown
}

func discardLogger() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func authorizeByCommonName(_ context.Context, p Peer, _ *corev3.Node) (Grant, error) {
	name := p.Chain[0].Subject.CommonName
	return Grant{Key: name, Identity: name}, nil
}

func startServer(t testing.TB, authorize Authorizer, opts Options) *testServer {
	t.Helper()
	r := &testServer{ca: newTestCA(t)}
	opts.TLS = &tls.Config{
		Certificates: []tls.Certificate{r.ca.leaf(t, "anymesh", time.Hour)},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: r.ca.pool(),
	}
	if opts.Logger == nil {
		opts.Logger = discardLogger()
	}
	r.Server = NewServer(authorize, opts)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r
}

// deltaClient is a minimal delta client: it applies and acknowledges every response.
type deltaClient struct {
	t      testing.TB
	conn   *grpc.ClientConn
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient

	sendMu sync.Mutex
	mu     sync.Mutex
	model  *modelClient
	log    []string
	asked  map[string]bool
	err    error
	reject func(*discoveryv3.DeltaDiscoveryResponse) string // returns the message of a NACK, or "" for an ACK
	ended  chan struct{}
}

func (r *testServer) connect(t testing.TB, name string) *deltaClient {
	return r.connectWith(t, r.ca.leaf(t, name, time.Hour))
}

func (r *testServer) dial(t testing.TB, cert tls.Certificate, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn := r.newConn(t, cert, opts...)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// newConn returns a connection that the caller must close.
func (r *testServer) newConn(t testing.TB, cert tls.Certificate, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	creds := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: r.ca.pool(),
		ServerName: "anymesh"})
	conn, err := grpc.NewClient(r.addr, append(opts, grpc.WithTransportCredentials(creds))...)
	if err != nil {
		panic(err) // the address and the options are valid
	}
	return conn
}

func (r *testServer) connectWith(t testing.TB, cert tls.Certificate) *deltaClient {
	t.Helper()
	return r.connectOn(t, r.dial(t, cert))
}

func (r *testServer) connectOn(t testing.TB, conn *grpc.ClientConn) *deltaClient {
	t.Helper()
	c := &deltaClient{t: t, conn: conn, model: newModelClient(), asked: map[string]bool{}, ended: make(chan struct{})}
	var err error
	c.stream, err = discoveryv3.NewAggregatedDiscoveryServiceClient(c.conn).DeltaAggregatedResources(t.Context())
	if err != nil {
		c.err = err // the handshake failed
		close(c.ended)
		return c
	}
	go c.read()
	return c
}

func (c *deltaClient) read() {
	defer close(c.ended)
	for {
		r, err := c.stream.Recv()
		c.mu.Lock()
		if err != nil {
			c.err = err
			c.mu.Unlock()
			return
		}
		c.log = append(c.log, summarizeDelta(r))
		answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}
		if c.reject != nil {
			if message := c.reject(r); message != "" {
				answer.ErrorDetail = &statuspb.Status{Message: message}
			}
		}
		if answer.GetErrorDetail() == nil {
			c.model.apply(r)
		}
		c.mu.Unlock()
		c.send(answer)
	}
}

func (c *deltaClient) send(req *discoveryv3.DeltaDiscoveryRequest) {
	if c.stream == nil {
		return
	}
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	_ = c.stream.Send(req) // read reports a broken stream
}

func (c *deltaClient) ask(req *discoveryv3.DeltaDiscoveryRequest) {
	c.mu.Lock()
	c.model.ask(req, !c.asked[req.GetTypeUrl()])
	c.asked[req.GetTypeUrl()] = true
	c.mu.Unlock()
	c.send(req)
}

func (c *deltaClient) subscribe(typeURL string, names ...string) {
	c.ask(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResourceNamesSubscribe: names,
		Node: &corev3.Node{Id: "node"}})
}

// has returns the resources of the client: version by name.
func (c *deltaClient) has(typeURL string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]string{}
	for n, v := range c.model.of(typeURL).has {
		out[n] = v
	}
	return out
}

func (c *deltaClient) received() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.log...)
}

// end waits until the stream ends and returns its error.
func (c *deltaClient) end() error {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(2 * time.Minute):
		c.t.Fatal("the stream did not end")
	}
	return c.err
}

var eventually = poll.Until
