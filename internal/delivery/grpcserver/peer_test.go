package grpcserver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// peer is a client that may send what it likes. What comes back is read at once, and written down.
type peer struct {
	*http2.Framer
	t       testing.TB
	conn    net.Conn
	headers bytes.Buffer
	encoder *hpack.Encoder
	done    chan struct{}

	polite atomic.Bool // it answers PING

	mu     sync.Mutex
	events []string
}

// connect opens a connection and exchanges the first words.
func connect(t testing.TB, l *pipes) *peer {
	t.Helper()
	p := silent(t, l)
	p.begin()
	return p
}

// silent opens a connection and says nothing.
func silent(t testing.TB, l *pipes) *peer {
	p := &peer{t: t, conn: l.dial(), done: make(chan struct{})}
	p.Framer = http2.NewFramer(p.conn, nil)
	p.Framer.AllowIllegalWrites = true
	p.encoder = newEncoder(p)
	go p.listen()
	t.Cleanup(p.close)
	return p
}

func newEncoder(p *peer) *hpack.Encoder { return hpack.NewEncoder(&p.headers) }

func (p *peer) begin() {
	_, _ = io.WriteString(p.conn, http2.ClientPreface)
	_ = p.WriteSettings()
}

func (p *peer) close() {
	_ = p.conn.Close()
	<-p.done
}

// listen writes down all but what every connection begins with.
func (p *peer) listen() {
	defer close(p.done)
	in := http2.NewFramer(nil, p.conn)
	in.ReadMetaHeaders = hpack.NewDecoder(4<<10, nil)
	for {
		frame, err := in.ReadFrame()
		var event string
		switch f := frame.(type) {
		case nil:
			event = "closed"
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
				event = "bad: " + err.Error()
			}
		case *http2.SettingsFrame:
			continue
		case *http2.PingFrame:
			if p.polite.Load() && !f.IsAck() {
				_, _ = p.conn.Write(append(appendFrame(nil, http2.FramePing, http2.FlagPingAck, 0, len(f.Data)), f.Data[:]...))
				continue
			}
			event = fmt.Sprintf("PING ack=%v", f.IsAck())
		case *http2.GoAwayFrame:
			event = fmt.Sprintf("GOAWAY %d %v", f.LastStreamID, f.ErrCode)
		case *http2.RSTStreamFrame:
			event = fmt.Sprintf("RST %d %v", f.StreamID, f.ErrCode)
		case *http2.WindowUpdateFrame:
			event = fmt.Sprintf("WINDOW %d +%d", f.StreamID, f.Increment)
		case *http2.DataFrame:
			event = fmt.Sprintf("DATA %d %d", f.StreamID, len(f.Data()))
		case *http2.MetaHeadersFrame:
			event = fmt.Sprintf("HEADERS %d", f.StreamID)
			for _, field := range f.Fields {
				switch field.Name {
				case ":status", "grpc-status":
					event += " " + strings.TrimPrefix(field.Name, ":") + "=" + field.Value
				}
			}
		default:
			event = frame.Header().String()
		}
		p.mu.Lock()
		p.events = append(p.events, event)
		p.mu.Unlock()
		if frame == nil {
			return
		}
	}
}

// saw is what came since it was asked for last, once nothing more comes.
func (p *peer) saw() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.events
	p.events = nil
	return all
}

// data is how many bytes of data came on a stream since, or on all if it is 0.
func (p *peer) data(id uint32) (all int) {
	for _, event := range p.saw() {
		var stream uint32
		var n int
		if _, err := fmt.Sscanf(event, "DATA %d %d", &stream, &n); err == nil && (id == 0 || stream == id) {
			all += n
		}
	}
	return all
}

func (p *peer) expect(want ...string) {
	p.t.Helper()
	if got := p.saw(); !slices.Equal(got, want) {
		p.t.Errorf("the client sees %q, want %q", got, want)
	}
}

// block is the headers of a request for a method.
func (p *peer) block(method string, more ...hpack.HeaderField) []byte {
	p.headers.Reset()
	fields := []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: method},
		{Name: ":authority", Value: "server"}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	}
	for _, f := range append(fields, more...) {
		_ = p.encoder.WriteField(f) // into memory
	}
	return bytes.Clone(p.headers.Bytes())
}

// open opens a stream.
func (p *peer) open(id uint32, method string, more ...hpack.HeaderField) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block(method, more...), EndHeaders: true})
}

// trailers end a stream, as no client of gRPC does.
func (p *peer) trailers(id uint32, end bool) {
	p.headers.Reset()
	_ = p.encoder.WriteField(hpack.HeaderField{Name: "x", Value: "y"})
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.headers.Bytes(), EndHeaders: true, EndStream: end})
}

// send sends a gRPC message.
func (p *peer) send(id uint32, size int, end bool) {
	rest := message(size)
	for len(rest) > smallestFrame {
		_ = p.WriteData(id, false, rest[:smallestFrame])
		rest = rest[smallestFrame:]
	}
	_ = p.WriteData(id, end, rest)
}

// message is a gRPC message of so many zeros.
func message(size int) []byte {
	b := make([]byte, prefix+size)
	binary.BigEndian.PutUint32(b[1:], uint32(size))
	return b
}
