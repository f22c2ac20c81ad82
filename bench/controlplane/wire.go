package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The only stream of a connection, and flow control windows that are never exhausted.
const (
	streamID = 1
	window   = 1 << 30
	prefix   = 5 // gRPC message prefix: compression flag and length
)

// stream is a minimal gRPC stream over HTTP/2 with one goroutine.
type stream struct {
	framer  *http2.Framer
	out     *bytes.Buffer
	conn    net.Conn
	pending []byte // incomplete messages
	// credit is the send window of the connection and of the stream; initial is the initial window of the stream.
	credit  [2]int
	initial int
}

const (
	onConnection = iota
	onStream
)

// response contains the used fields of a response.
type response struct {
	typeURL, nonce string
	names, removed []string // resource names
	routes         []string // names of the routes that scopes refer to
}

func open(conn net.Conn) (*stream, error) {
	const standard = 1<<16 - 1 // RFC 9113, 6.9.2
	s := &stream{conn: conn, out: &bytes.Buffer{}, credit: [2]int{standard, standard}, initial: standard}
	s.framer = http2.NewFramer(s.out, conn)
	s.framer.SetReuseFrames()
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	for _, f := range [][2]string{
		{":method", "POST"}, {":scheme", "https"},
		{":path", "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"},
		{":authority", "anymesh"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return nil, err
		}
	}
	s.out.WriteString(http2.ClientPreface)
	return s, errors.Join(
		s.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}),
		s.framer.WriteWindowUpdate(0, window),
		s.framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: streamID, BlockFragment: headers.Bytes(), EndHeaders: true,
		}),
		s.flush())
}

func (s *stream) flush() error {
	_, err := s.conn.Write(s.out.Bytes())
	s.out.Reset()
	return err
}

func (s *stream) request(r *discoveryv3.DeltaDiscoveryRequest) error {
	body, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	return s.send(body)
}

// send writes a message in frames of the default maximum size.
func (s *stream) send(body []byte) error {
	const most = 16 << 10
	message := binary.BigEndian.AppendUint32(make([]byte, 1, prefix+len(body)), uint32(len(body)))
	message = append(message, body...)
	for len(message) > 0 {
		n := min(len(message), most, s.credit[onConnection], s.credit[onStream])
		if n <= 0 {
			if err := s.read(); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(s.framer.WriteData(streamID, false, message[:n]), s.flush()); err != nil {
			return err
		}
		s.credit[onConnection] -= n
		s.credit[onStream] -= n
		message = message[n:]
	}
	return nil
}

// read processes the next frame.
func (s *stream) read() error {
	frame, err := s.framer.ReadFrame()
	if err != nil {
		return err
	}
	return s.handle(frame)
}

func (s *stream) acknowledge(r response) error {
	body := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), r.typeURL)
	return s.send(protowire.AppendString(protowire.AppendTag(body, 6, protowire.BytesType), r.nonce))
}

// response reads the next message.
func (s *stream) response() (response, error) {
	for {
		if len(s.pending) >= prefix {
			if end := prefix + int(binary.BigEndian.Uint32(s.pending[1:])); len(s.pending) >= end {
				r, err := parse(s.pending[prefix:end])
				s.pending = append(s.pending[:0], s.pending[end:]...)
				return r, err
			}
		}
		if err := s.read(); err != nil {
			return response{}, err
		}
	}
}

func (s *stream) handle(frame http2.Frame) error {
	switch f := frame.(type) {
	case *http2.DataFrame:
		s.pending = append(s.pending, f.Data()...)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if given, ok := f.Value(http2.SettingInitialWindowSize); ok {
			s.credit[onStream] += int(given) - s.initial
			s.initial = int(given)
		}
		return errors.Join(s.framer.WriteSettingsAck(), s.flush())
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			s.credit[onConnection] += int(f.Increment)
		} else {
			s.credit[onStream] += int(f.Increment)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return errors.Join(s.framer.WritePing(true, f.Data), s.flush())
		}
	case *http2.GoAwayFrame, *http2.RSTStreamFrame:
		return fmt.Errorf("the server reset the stream: %v", f)
	case *http2.HeadersFrame:
		if f.StreamEnded() {
			return errors.New("the server closed the stream")
		}
	}
	return nil
}

// parse decodes the used fields of a DeltaDiscoveryResponse.
func parse(b []byte) (response, error) {
	var r response
	err := fields(b, func(number protowire.Number, value []byte) error {
		switch number {
		case 2:
			return fields(value, func(number protowire.Number, value []byte) error {
				switch number {
				case 2:
					return r.addRoutes(value)
				case 3:
					r.names = append(r.names, string(value))
				}
				return nil
			})
		case 4:
			r.typeURL = string(value)
		case 5:
			r.nonce = string(value)
		case 6:
			r.removed = append(r.removed, string(value))
		}
		return nil
	})
	return r, err
}

// addRoutes adds the name of the routes of a resource that is a scope. Several scopes may have the same.
func (r *response) addRoutes(resource []byte) error {
	scope := false
	return fields(resource, func(number protowire.Number, value []byte) error {
		switch {
		case number == 1:
			scope = string(value) == scopeType
		case number == 2 && scope:
			return fields(value, func(number protowire.Number, value []byte) error {
				if number == 2 {
					r.routes = append(r.routes, string(value))
				}
				return nil
			})
		}
		return nil
	})
}

// fields calls f for each length-delimited field of a message.
func fields(b []byte, f func(protowire.Number, []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return protowire.ParseError(n)
			}
			if err := f(number, value); err != nil {
				return err
			}
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
	}
	return nil
}
