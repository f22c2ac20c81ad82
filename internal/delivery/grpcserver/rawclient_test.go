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

	"anymesh.dev/anymesh/internal/h2frame"
)

// rawClient is a client that can send any frame. It records the received frames.
type rawClient struct {
	*http2.Framer
	t       testing.TB
	conn    net.Conn
	headers bytes.Buffer
	encoder *hpack.Encoder
	done    chan struct{}

	acksPings atomic.Bool // acknowledges PING

	mu     sync.Mutex
	events []string
}

// connect opens a connection and exchanges prefaces.
func connect(t testing.TB, l *pipeListener) *rawClient {
	t.Helper()
	p := connectRaw(t, l)
	p.sendPreface()
	return p
}

// connectRaw opens a connection without a preface.
func connectRaw(t testing.TB, l *pipeListener) *rawClient {
	p := &rawClient{t: t, conn: l.dial(), done: make(chan struct{})}
	p.Framer = http2.NewFramer(p.conn, nil)
	p.Framer.AllowIllegalWrites = true
	p.encoder = newEncoder(p)
	go p.readFrames()
	t.Cleanup(p.close)
	return p
}

func newEncoder(p *rawClient) *hpack.Encoder { return hpack.NewEncoder(&p.headers) }

func (p *rawClient) sendPreface() {
	_, _ = io.WriteString(p.conn, http2.ClientPreface)
	_ = p.WriteSettings()
}

func (p *rawClient) close() {
	_ = p.conn.Close()
	<-p.done
}

// readFrames records all frames except SETTINGS.
func (p *rawClient) readFrames() {
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
			if p.acksPings.Load() && !f.IsAck() {
				_, _ = p.conn.Write(append(h2frame.AppendHeader(nil, http2.FramePing, http2.FlagPingAck, 0, len(f.Data)),
					f.Data[:]...))
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

// takeEvents returns the events since the last call, when no more arrive.
func (p *rawClient) takeEvents() []string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.events
	p.events = nil
	return all
}

// dataBytes returns the bytes of DATA of a stream since the last call, or of all streams for ID 0.
func (p *rawClient) dataBytes(id uint32) (all int) {
	for _, event := range p.takeEvents() {
		var stream uint32
		var n int
		if _, err := fmt.Sscanf(event, "DATA %d %d", &stream, &n); err == nil && (id == 0 || stream == id) {
			all += n
		}
	}
	return all
}

func (p *rawClient) expectEvents(want ...string) {
	p.t.Helper()
	if got := p.takeEvents(); !slices.Equal(got, want) {
		p.t.Errorf("the client received %q, want %q", got, want)
	}
}

// headerBlock returns the encoded headers of a request for a method.
func (p *rawClient) headerBlock(method string, more ...hpack.HeaderField) []byte {
	p.headers.Reset()
	fields := []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: method},
		{Name: ":authority", Value: "server"}, {Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	}
	for _, f := range append(fields, more...) {
		_ = p.encoder.WriteField(f) // never fails
	}
	return bytes.Clone(p.headers.Bytes())
}

// open opens a stream.
func (p *rawClient) open(id uint32, method string, more ...hpack.HeaderField) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.headerBlock(method, more...),
		EndHeaders: true})
}

// trailers sends trailers, which gRPC clients do not.
func (p *rawClient) trailers(id uint32, end bool) {
	p.headers.Reset()
	_ = p.encoder.WriteField(hpack.HeaderField{Name: "x", Value: "y"})
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.headers.Bytes(), EndHeaders: true,
		EndStream: end})
}

// send sends a gRPC message.
func (p *rawClient) send(id uint32, size int, end bool) {
	rest := message(size)
	for len(rest) > h2frame.FrameSize {
		_ = p.WriteData(id, false, rest[:h2frame.FrameSize])
		rest = rest[h2frame.FrameSize:]
	}
	_ = p.WriteData(id, end, rest)
}

// message returns a gRPC message of zeros.
func message(size int) []byte {
	b := make([]byte, messagePrefixLen+size)
	binary.BigEndian.PutUint32(b[1:], uint32(size))
	return b
}
