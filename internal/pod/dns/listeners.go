package dns

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// serveUDP answers questions about names in the table at once, and the others in goroutines.
func (s *Server) serveUDP(ctx context.Context, conn *net.UDPConn, serving *sync.WaitGroup) {
	msg, name := make([]byte, maxMessageSize), new([maxNameSize]byte)
	for {
		n, client, err := conn.ReadFromUDPAddrPort(msg)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			s.logger.Debug("cannot read a DNS question", "error", err)
			if !pause(ctx, acceptPause) {
				return
			}
			continue
		}
		if !s.isLocal(client.Addr()) {
			s.counts.dropped.Add(1)
			continue
		}
		switch v, out, q := s.handle(msg[:n], overUDP, name); v {
		case drop:
			s.counts.dropped.Add(1)
		case reply:
			s.counts.answered.Add(1)
			s.sendUDP(conn, client, out)
		case forward, wait:
			if !acquire(s.questions) {
				s.counts.dropped.Add(1)
				continue
			}
			copied := bytes.Clone(msg[:n])
			q.name = bytes.Clone(q.name)
			serving.Go(func() {
				defer release(s.questions)
				if out := s.resolve(ctx, v, copied, q, overUDP); out != nil {
					s.sendUDP(conn, client, out)
				}
			})
		}
	}
}

// resolve answers a message that handle does not answer at once. It returns nil if the context has ended.
func (s *Server) resolve(ctx context.Context, v verdict, msg []byte, q question, over transport) []byte {
	if v == wait {
		return s.await(ctx, msg, q, over)
	}
	return s.forward(ctx, msg, q, over)
}

func (s *Server) sendUDP(conn *net.UDPConn, client netip.AddrPort, out []byte) {
	if _, err := conn.WriteToUDPAddrPort(out, client); err != nil {
		s.logger.Debug("cannot send a DNS answer", "error", err) // the client repeats its question
	}
}

func (s *Server) serveTCP(ctx context.Context, listener *net.TCPListener, serving *sync.WaitGroup) {
	for {
		conn, err := listener.AcceptTCP()
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			s.logger.Warn("cannot accept a DNS connection", "error", err)
			if !pause(ctx, acceptPause) {
				return
			}
			continue
		}
		client := conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()
		if !s.isLocal(client) || !acquire(s.connections) {
			s.counts.dropped.Add(1)
			_ = conn.Close() // the client connects again
			continue
		}
		serving.Go(func() {
			defer release(s.connections)
			s.serveConnection(ctx, conn)
		})
	}
}

// serveConnection answers the questions of a TCP client in the order in which the answers are available (RFC 7766,
// section 7). It closes the connection when the client has closed its side or is idle, after all answers are sent.
func (s *Server) serveConnection(ctx context.Context, conn *net.TCPConn) {
	defer closeWith(ctx, conn)()
	var pending sync.WaitGroup
	defer pending.Wait()
	var writes sync.Mutex
	send := func(out []byte) {
		writes.Lock()
		defer writes.Unlock()
		err := conn.SetWriteDeadline(time.Now().Add(s.timing.idle))
		if err == nil {
			err = writeMessage(conn, out)
		}
		if err != nil {
			_ = conn.Close() // a part of a message may be written
		}
	}
	slots := make(chan struct{}, MaxPipelined)
	in := bufio.NewReaderSize(conn, 1024)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(s.timing.idle)); err != nil {
			return
		}
		msg, err := readMessage(in)
		if err != nil {
			return
		}
		var name [maxNameSize]byte
		switch v, out, q := s.handle(msg, overTCP, &name); v {
		case drop:
			s.counts.dropped.Add(1)
			return
		case reply:
			s.counts.answered.Add(1)
			send(out)
		case forward, wait:
			if !acquire(slots) {
				s.counts.paused.Add(1)
				slots <- struct{}{}
			}
			if !acquire(s.questions) {
				s.counts.dropped.Add(1)
				return
			}
			pending.Go(func() {
				defer release(slots)
				out := s.resolve(ctx, v, msg, q, overTCP)
				release(s.questions) // a client that does not read delays only itself
				if out != nil {
					send(out)
				}
			})
		}
	}
}

// acquire takes one of the slots, if one is free.
func acquire(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func release(slots chan struct{}) { <-slots }
