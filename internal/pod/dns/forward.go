package dns

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"
)

// timing has the time limits of the server.
type timing struct {
	attempt  time.Duration // for one exchange with a nameserver
	total    time.Duration // for all attempts; client resolvers give up after 5 s
	minPause time.Duration // before all nameservers are tried again; doubles up to maxPause
	maxPause time.Duration
	idle     time.Duration // for a client to send the next question over TCP
}

var defaultTiming = timing{
	attempt: 2 * time.Second, total: 4500 * time.Millisecond, minPause: 20 * time.Millisecond,
	maxPause: 320 * time.Millisecond, idle: 10 * time.Second,
}

var errNoUpstreams = errors.New("resolv.conf has no nameserver")

// forward returns the reply of a nameserver, or SERVFAIL. It returns nil if the context has ended.
func (s *Server) forward(ctx context.Context, msg []byte, q question, over transport) []byte {
	start := time.Now()
	deadline := start.Add(s.timing.total)
	err := errNoUpstreams
	for wait := s.timing.minPause; len(s.upstreams) > 0; wait = min(2*wait, s.timing.maxPause) {
		for _, upstream := range s.upstreams {
			limit := time.Now().Add(s.timing.attempt)
			if limit.After(deadline) {
				limit = deadline
			}
			var out []byte
			if out, err = exchange(ctx, upstream, msg, q, over, limit); err == nil {
				s.counts.forwarded.Add(1)
				return out
			}
			if ctx.Err() != nil {
				return nil
			}
			if !time.Now().Before(deadline) {
				break
			}
		}
		if time.Until(deadline) < wait || !pause(ctx, wait) {
			break
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	s.counts.failed.Add(1)
	s.warn(q, err)
	return failure(msg)
}

func exchange(
	ctx context.Context, upstream netip.AddrPort, msg []byte, q question, over transport, limit time.Time,
) ([]byte, error) {
	if over == overUDP {
		return exchangeUDP(ctx, upstream, msg, q, limit)
	}
	return exchangeTCP(ctx, upstream, msg, q, limit)
}

// exchangeUDP sends the message from a connected socket, which receives only from the nameserver, and reports ICMP
// errors. Replies to other questions are ignored.
func exchangeUDP(
	ctx context.Context, upstream netip.AddrPort, msg []byte, q question, limit time.Time,
) ([]byte, error) {
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(upstream))
	if err != nil {
		return nil, err
	}
	defer closeWith(ctx, conn)()
	if err := conn.SetDeadline(limit); err != nil {
		return nil, err
	}
	if _, err := conn.Write(msg); err != nil {
		return nil, err
	}
	size := replySize(msg, q)
	buffer := make([]byte, size+1)
	for {
		n, err := conn.Read(buffer)
		switch {
		case n > size: // more than the client allows, and more than was read
			return truncation(msg), nil
		case err != nil:
			return nil, err
		case isReply(buffer[:n], msg, q):
			return buffer[:n], nil
		}
	}
}

func exchangeTCP(
	ctx context.Context, upstream netip.AddrPort, msg []byte, q question, limit time.Time,
) ([]byte, error) {
	conn, err := (&net.Dialer{Deadline: limit}).DialContext(ctx, "tcp", upstream.String())
	if err != nil {
		return nil, err
	}
	defer closeWith(ctx, conn)()
	if err := conn.SetDeadline(limit); err != nil {
		return nil, err
	}
	if err := writeMessage(conn, msg); err != nil {
		return nil, err
	}
	for {
		out, err := readMessage(conn)
		if err != nil {
			return nil, err
		}
		if isReply(out, msg, q) {
			return out, nil
		}
	}
}

// closeWith closes the connection when the context ends or when the returned function is called.
func closeWith(ctx context.Context, conn net.Conn) func() {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return func() {
		stop()
		conn.Close()
	}
}

// readMessage reads a message with its length (RFC 1035, section 4.2.2).
func readMessage(r io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	msg := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(r, msg)
	return msg, err
}

// writeMessage writes a message with its length in one segment, as RFC 7766, section 8, recommends.
func writeMessage(w io.Writer, msg []byte) error {
	framed := make([]byte, 0, 2+len(msg))
	framed = binary.BigEndian.AppendUint16(framed, uint16(len(msg)))
	_, err := w.Write(append(framed, msg...))
	return err
}
