package proxy_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/freeport"
)

const tcpConfig = `
listeners:
- name: in
  spec: {protocol: TCP, port: $IN, address: 127.0.0.1}
  rules:
  - action: {route: {destination: up}}
clusters:
- {name: up, spec: {protocol: TCP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
`

// Each direction of a TCP session ends on its own: a server answers after the end of the request.
func TestTCPHalfClose(t *testing.T) {
	up := listen(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c)
		slices.Reverse(all)
		_, _ = c.Write(all)
	})
	at := start(t, fmt.Sprintf(tcpConfig, up), "IN")
	c := dial(t, "tcp", at["IN"])
	sent := make([]byte, 3<<20)
	_, _ = rand.Read(sent)
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	slices.Reverse(got)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("got %d of %d bytes, or others, error %v", len(got), len(sent), err)
	}
}

// A server that closes first ends its direction only.
func TestTCPServerHalfClose(t *testing.T) {
	got := make(chan string, 1)
	up := listen(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "hello")
		_ = c.CloseWrite()
		all, _ := io.ReadAll(c)
		got <- string(all)
	})
	at := start(t, fmt.Sprintf(tcpConfig, up), "IN")
	c := dial(t, "tcp", at["IN"])
	if all, err := io.ReadAll(c); string(all) != "hello" || err != nil {
		t.Errorf("got %q, error %v", all, err)
	}
	_, _ = io.WriteString(c, "bye")
	_ = c.(*net.TCPConn).CloseWrite()
	if s := <-got; s != "bye" {
		t.Errorf("the server got %q after its end", s)
	}
}

// A session without connection ends.
func TestTCPRefused(t *testing.T) {
	at := start(t, fmt.Sprintf(tcpConfig, fmt.Sprint(freeport.Port(t))), "IN")
	if all, err := io.ReadAll(dial(t, "tcp", at["IN"])); len(all) > 0 || err != nil {
		t.Errorf("got %q, error %v", all, err)
	}
}

// What the client sends before the connection exists is delivered: the server comes after two attempts.
func TestTCPRetry(t *testing.T) {
	port := freeport.Port(t)
	at := start(t, strings.Replace(fmt.Sprintf(tcpConfig, fmt.Sprint(port)), "{destination: up}",
		"{destination: up, retry: {retry_on: connect-failure, num_retries: 100, timeout: 50}}", 1), "IN")
	c := dial(t, "tcp", at["IN"])
	_, _ = io.WriteString(c, "early")
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	got := make([]byte, 5)
	if _, err := io.ReadFull(server, got); err != nil || string(got) != "early" {
		t.Errorf("got %q, error %v", got, err)
	}
}

const udpConfig = `
listeners:
- name: in
  spec: {protocol: UDP, port: $IN, address: 127.0.0.1}
  rules:
  - action: {route: {destination: up}}
clusters:
- {name: up, spec: {protocol: UDP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}
`

// echoUDP returns the port of a server that sends each packet back, after the port that it came from.
func echoUDP(t testing.TB) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 65536)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(append([]byte(portOf(from)+" "), b[:n]...), from)
		}
	}()
	return portOf(c.LocalAddr())
}

// The first burst of a new peer arrives once, in order, in one session; empty packets are packets.
func TestUDPFirstBurst(t *testing.T) {
	at := start(t, fmt.Sprintf(udpConfig, echoUDP(t)), "IN")
	for range 20 {
		c := dial(t, "udp", at["IN"])
		for i := range 50 {
			text := fmt.Sprint(i)
			if i == 7 {
				text = ""
			}
			_, _ = c.Write([]byte(text))
		}
		session := ""
		for i := range 50 {
			b := make([]byte, 100)
			n, err := c.Read(b)
			if err != nil {
				t.Fatalf("packet %d: %v", i, err)
			}
			port, text, _ := strings.Cut(string(b[:n]), " ")
			want := fmt.Sprint(i)
			if i == 7 {
				want = ""
			}
			if text != want || session != "" && port != session {
				t.Fatalf("packet %d is %q of session %s, want session %s", i, text, port, session)
			}
			session = port
		}
	}
}

// Packets of the maximum size pass.
func TestUDPMaximumSize(t *testing.T) {
	at := start(t, fmt.Sprintf(udpConfig, echoUDP(t)), "IN")
	c := dial(t, "udp", at["IN"])
	sent := bytes.Repeat([]byte("x"), 65507-10)
	if _, err := c.Write(sent); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1<<16)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if _, text, _ := bytes.Cut(b[:n], []byte(" ")); !bytes.Equal(text, sent) {
		t.Errorf("got %d bytes", n)
	}
}

// A session without packets ends; the next packet starts another one, on another port.
func TestUDPIdleTimeout(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(udpConfig, echoUDP(t)), "port: $IN,", "port: $IN, options: {idle_timeout: 50},", 1)
	at := start(t, text, "IN")
	c := dial(t, "udp", at["IN"])
	ask := func() string {
		_, _ = c.Write([]byte("x"))
		b := make([]byte, 100)
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	first := ask()
	for wait := 10 * time.Millisecond; ask() == first; wait *= 2 { // each packet restarts the idle time
		time.Sleep(wait)
	}
}

// A singleton is connected to its peer at once, and only that peer is served.
func TestUDPSingleton(t *testing.T) {
	peer, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	greeter, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer greeter.Close()
	text := strings.Replace(fmt.Sprintf(udpConfig, portOf(greeter.LocalAddr())), "port: $IN,",
		"port: $IN, connect: {address: 127.0.0.1, port: "+portOf(peer.LocalAddr())+"},", 1)
	at := start(t, text, "IN")
	in, err := net.ResolveUDPAddr("udp", at["IN"])
	if err != nil {
		t.Fatal(err)
	}
	_, _ = dial(t, "udp", at["IN"]).Write([]byte("stranger"))
	_, _ = peer.WriteTo([]byte("peer"), in)
	b := make([]byte, 100)
	n, from, err := greeter.ReadFrom(b)
	if err != nil || string(b[:n]) != "peer" {
		t.Fatalf("got %q, error %v", b[:n], err)
	}
	_, _ = greeter.WriteTo([]byte("welcome"), from)
	if n, _, err = peer.ReadFrom(b); err != nil || string(b[:n]) != "welcome" {
		t.Errorf("got %q, error %v", b[:n], err)
	}
}

// A port that is in use is an error at once.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for text, a := range map[string]net.Addr{tcpConfig: l.Addr(), udpConfig: u.LocalAddr()} {
		text = strings.ReplaceAll(fmt.Sprintf(text, "1"), "$IN", portOf(a))
		if err := tryStart(t, text); err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("got error %v", err)
		}
	}
}
