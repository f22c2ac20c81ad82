package dns

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"anymesh.dev/anymesh/test/poll"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// names is the table of most tests.
var names = map[string]Record{
	"color.apps.pvt.local": {Addresses: addresses("10.0.0.1", "fd00::1"), TTL: 30},
	"two.apps.pvt.local":   {Addresses: addresses("10.0.0.1", "10.0.0.2"), TTL: 5},
	"old.apps.pvt.local":   {Addresses: addresses("10.0.0.3"), TTL: 5},
	"many.apps.pvt.local":  {Addresses: manyAddresses(200), TTL: 5},
	"short":                {Addresses: addresses("10.0.0.4"), TTL: 5},
}

func addresses(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

func manyAddresses(n int) []netip.Addr {
	var out []netip.Addr
	for i := range n {
		out = append(out, netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}))
	}
	return out
}

// testConfig is the configuration of most tests. The server selects its ports: those of UDP and TCP differ.
func testConfig(upstreams ...netip.AddrPort) Config {
	return Config{
		Listen: []string{"127.0.0.1:0"}, Upstreams: upstreams, Search: []string{"ns.svc.cluster.local", "cluster.local"},
		IPv4: true, IPv6: true,
	}
}

// start runs a server until the end of the test.
func start(t testing.TB, c Config, change ...func(*Server)) *Server {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(s)
	}
	s.SetNames(names)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	return s
}

// address returns the address that the server listens on for "udp" or "tcp".
func (s *Server) address(network string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if network == "tcp" {
		return s.tcp[0].Addr().String()
	}
	return s.udp[0].LocalAddr().String()
}

// ask sends a question and returns the reply.
func ask(t testing.TB, s *Server, network string, m *dns.Msg) *dns.Msg {
	t.Helper()
	out, err := tryAsk(s, network, m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tryAsk is ask for goroutines, which must not end the test.
func tryAsk(s *Server, network string, m *dns.Msg) (*dns.Msg, error) {
	client := &dns.Client{Net: network, UDPSize: maxMessageSize, Timeout: 20 * time.Second}
	out, _, err := client.Exchange(m, s.address(network))
	return out, err
}

func askRaw(t testing.TB, s *Server, network string, msg []byte) []byte {
	t.Helper()
	conn := connect(t, s, network)
	defer conn.Close()
	if _, err := conn.Write(msg); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, maxMessageSize)
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return buffer[:n]
}

// connect returns a connection that frames messages over TCP.
func connect(t testing.TB, s *Server, network string) *dns.Conn {
	t.Helper()
	conn, err := net.Dial(network, s.address(network))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &dns.Conn{Conn: conn, UDPSize: maxMessageSize}
}

func newQuestion(name string, qtype uint16) *dns.Msg {
	return new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype)
}

// upstream is a nameserver that records the bytes of questions and replies.
type upstream struct {
	address netip.AddrPort
	handler dns.HandlerFunc
	servers []*dns.Server

	mu                 sync.Mutex
	questions, replies [][]byte
}

// newUpstream starts a nameserver for both transports on one port. It ends with the test.
func newUpstream(t testing.TB, handler dns.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{handler: handler, address: netip.MustParseAddrPort("127.0.0.1:0")}
	poll.Until(t, "a port is free for both transports", func() bool { return u.start(t) == nil })
	t.Cleanup(u.stop)
	return u
}

func (u *upstream) start(t testing.TB) error {
	packets, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(u.address))
	if err != nil {
		return err
	}
	address := packets.LocalAddr().(*net.UDPAddr).AddrPort()
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(address))
	if err != nil {
		packets.Close()
		return err
	}
	u.address = address
	u.servers = []*dns.Server{{PacketConn: packets}, {Listener: listener}}
	for _, server := range u.servers {
		started := make(chan struct{})
		server.Handler = u.handler
		server.UDPSize = maxMessageSize
		server.NotifyStartedFunc = func() { close(started) }
		server.DecorateReader = func(r dns.Reader) dns.Reader { return recordingReader{r, u} }
		server.DecorateWriter = func(w dns.Writer) dns.Writer { return recordingWriter{w, u} }
		go func() {
			if err := server.ActivateAndServe(); err != nil {
				t.Errorf("upstream: %v", err)
			}
		}()
		<-started
	}
	return nil
}

func (u *upstream) stop() {
	for _, server := range u.servers {
		_ = server.Shutdown() // or it is stopped already
	}
}

func (u *upstream) record(list *[][]byte, msg []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	*list = append(*list, bytes.Clone(msg))
}

// recorded returns the questions and replies since the last call.
func (u *upstream) recorded() (questions, replies [][]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	questions, replies = slices.Clone(u.questions), slices.Clone(u.replies)
	u.questions, u.replies = nil, nil
	return questions, replies
}

type recordingReader struct {
	dns.Reader
	u *upstream
}

func (r recordingReader) ReadUDP(conn *net.UDPConn, timeout time.Duration) ([]byte, *dns.SessionUDP, error) {
	msg, session, err := r.Reader.ReadUDP(conn, timeout)
	if err == nil {
		r.u.record(&r.u.questions, msg)
	}
	return msg, session, err
}

func (r recordingReader) ReadTCP(conn net.Conn, timeout time.Duration) ([]byte, error) {
	msg, err := r.Reader.ReadTCP(conn, timeout)
	if err == nil {
		r.u.record(&r.u.questions, msg)
	}
	return msg, err
}

type recordingWriter struct {
	dns.Writer
	u *upstream
}

func (w recordingWriter) Write(msg []byte) (int, error) {
	w.u.record(&w.u.replies, msg)
	return w.Writer.Write(msg)
}

// answerAll is a handler that answers A questions of any name.
func answerAll(w dns.ResponseWriter, in *dns.Msg) {
	out := new(dns.Msg).SetReply(in)
	out.Answer = []dns.RR{&dns.A{
		Hdr: dns.RR_Header{Name: in.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1},
		A:   net.IPv4(192, 0, 2, 1),
	}}
	_ = w.WriteMsg(out) // the client may be gone
}
