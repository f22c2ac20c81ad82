package proxy_test

import (
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// peer is a client or a server of a protocol: it sends and receives pieces, which are messages where the protocol has
// them.
type peer struct {
	send    func([]byte) error
	receive func() ([]byte, error)
	end     func() error // of what is sent; nil if the protocol has none
}

func connPeer(c net.Conn) peer {
	p := peer{
		send: func(b []byte) error { _, err := c.Write(b); return err },
		receive: func() ([]byte, error) {
			b := make([]byte, 1<<16)
			n, err := c.Read(b)
			return b[:n], err
		},
	}
	if half, is := c.(interface{ CloseWrite() error }); is {
		p.end = half.CloseWrite
	}
	return p
}

func socketPeer(c *websocket.Conn) peer {
	return peer{
		send: func(b []byte) error { return c.WriteMessage(websocket.BinaryMessage, b) },
		receive: func() ([]byte, error) {
			_, b, err := c.ReadMessage()
			return b, err
		},
	}
}

func dialSocket(t *testing.T, address string) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.DefaultDialer.Dial("ws://"+address+"/path", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// protocol is one side of a pair.
type protocol struct {
	name     string
	messages bool
	// listener and cluster are specs; $IN is the port, %s the folder of unix sockets, and $UP the port of the server.
	listener, cluster string
	address           string // of the endpoint
	connect           func(t *testing.T, address, dir string) peer
	serve             func(t *testing.T, dir string, each func(peer)) (port string)
}

func serveConns(t *testing.T, network, address string, each func(peer)) string {
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				each(connPeer(c))
			}()
		}
	}()
	if network != "tcp" {
		return "0"
	}
	return portOf(l.Addr())
}

// packetsOnly hides the half-close, which datagrams do not have.
type packetsOnly struct{ net.Conn }

func servePackets(t *testing.T, network, address string, each func(peer)) string {
	c, err := net.ListenPacket(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var from net.Addr
	go each(peer{
		send: func(b []byte) error { _, err := c.WriteTo(b, from); return err },
		receive: func() ([]byte, error) {
			b := make([]byte, 1<<16)
			n, a, err := c.ReadFrom(b)
			from = a
			return b[:n], err
		},
	})
	if network != "udp" {
		return "0"
	}
	return portOf(c.LocalAddr())
}

var protocols = []protocol{
	{
		name: "TCP", listener: "{protocol: TCP, port: $IN}", cluster: "{protocol: TCP, port: $UP}", address: "127.0.0.1",
		connect: func(t *testing.T, address, _ string) peer { return connPeer(dial(t, "tcp", address)) },
		serve: func(t *testing.T, _ string, each func(peer)) string {
			return serveConns(t, "tcp", "127.0.0.1:0", each)
		},
	},
	{
		name: "unix", listener: "{protocol: UnixDomainSocket, filename: %s/in}", cluster: "{protocol: UnixDomainSocket}", address: "%s/up",
		connect: func(t *testing.T, _, dir string) peer { return connPeer(dial(t, "unix", dir+"/in")) },
		serve: func(t *testing.T, dir string, each func(peer)) string {
			return serveConns(t, "unix", dir+"/up", each)
		},
	},
	{
		name: "seqpacket", messages: true, listener: "{protocol: UnixDomainSocket, filename: %s/pin, type: seqpacket}",
		cluster: "{protocol: UnixDomainSocket, type: seqpacket}", address: "%s/pup",
		connect: func(t *testing.T, _, dir string) peer { return connPeer(dial(t, "unixpacket", dir+"/pin")) },
		serve: func(t *testing.T, dir string, each func(peer)) string {
			return serveConns(t, "unixpacket", dir+"/pup", each)
		},
	},
	{
		name: "UDP", messages: true, listener: "{protocol: UDP, port: $IN}", cluster: "{protocol: UDP, port: $UP}", address: "127.0.0.1",
		connect: func(t *testing.T, address, _ string) peer { return connPeer(dial(t, "udp", address)) },
		serve: func(t *testing.T, _ string, each func(peer)) string {
			return servePackets(t, "udp", "127.0.0.1:0", each)
		},
	},
	{
		name: "WebSocket", messages: true, listener: "{protocol: WebSocket, port: $IN}", cluster: "{protocol: WebSocket, port: $UP}",
		address: "127.0.0.1",
		connect: func(t *testing.T, address, _ string) peer {
			return socketPeer(dialSocket(t, address))
		},
		serve: func(t *testing.T, _ string, each func(peer)) string {
			return httpServer(t, func(w http.ResponseWriter, r *http.Request) {
				c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
				if err != nil {
					return
				}
				defer c.Close()
				each(socketPeer(c))
			})
		},
	},
	{
		name: "datagram", messages: true, listener: "{protocol: UnixDomainSocket, filename: %s/din, type: datagram}",
		cluster: "{protocol: UnixDomainSocket, type: datagram}", address: "%s/dup",
		connect: func(t *testing.T, _, dir string) peer {
			local, to := &net.UnixAddr{Net: "unixgram", Name: "@" + rand.Text()}, &net.UnixAddr{Name: dir + "/din", Net: "unixgram"}
			c, err := net.DialUnix("unixgram", local, to)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			_ = c.SetDeadline(time.Now().Add(patience))
			return connPeer(packetsOnly{c})
		},
		serve: func(t *testing.T, dir string, each func(peer)) string {
			return servePackets(t, "unixgram", dir+"/dup", each)
		},
	},
	{
		name: "HTTP", listener: "{protocol: HTTP, port: $IN}", cluster: "{protocol: HTTP, port: $UP}", address: "127.0.0.1",
		connect: connectHTTP, serve: serveHTTP,
	},
}

// connectHTTP sends the body of a request, and receives that of the response.
func connectHTTP(t *testing.T, address, _ string) peer {
	in, out := io.Pipe()
	t.Cleanup(func() { out.Close() })
	type result struct {
		*http.Response
		error
	}
	results := make(chan result, 1)
	r := request(t, "POST", "http://"+address+"/path", in)
	go func() {
		response, err := (&http.Client{Timeout: patience}).Do(r)
		results <- result{response, err}
	}()
	return peer{
		send: func(b []byte) error { _, err := out.Write(b); return err },
		receive: func() ([]byte, error) {
			one := <-results
			results <- one
			if one.error != nil {
				return nil, one.error
			}
			b := make([]byte, 1<<16)
			n, err := one.Body.Read(b)
			if n > 0 {
				err = nil
			}
			return b[:n], err
		},
		end: out.Close,
	}
}

// serveHTTP receives the bodies of requests, and sends those of responses.
func serveHTTP(t *testing.T, _ string, each func(peer)) string {
	return httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		_ = c.EnableFullDuplex()
		each(peer{
			send: func(b []byte) error {
				_, err := w.Write(b)
				return errors.Join(err, c.Flush())
			},
			receive: func() ([]byte, error) {
				b := make([]byte, 1<<16)
				n, err := r.Body.Read(b)
				if n > 0 {
					err = nil
				}
				return b[:n], err
			},
		})
	})
}
