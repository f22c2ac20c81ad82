package websocket

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
	"unicode/utf8"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// Opcodes of frames.
const (
	opContinuation = 0
	opText         = 1
	opBinary       = 2
	opClose        = 8
	opPing         = 9
	opPong         = 10
)

// Codes of close frames: RFC 6455, 7.4.1.
const (
	codeNormal   = 1000
	codeProtocol = 1002
	codeInvalid  = 1007
	codeTooBig   = 1009
)

// MaxMessage limits a message, in bytes.
const MaxMessage = 16 << 20

// Stream is a stream of messages.
type Stream struct {
	nc     net.Conn
	in     *bufio.Reader
	client bool
	text   bool // the last message that was read

	message []byte

	mu        sync.Mutex // guards writes
	out       []byte
	writeText bool
	closing   bool // a close frame was sent
}

func newStream(nc net.Conn, rest []byte, client bool) *Stream {
	var in io.Reader = nc
	if len(rest) > 0 {
		in = io.MultiReader(bytes.NewReader(bytes.Clone(rest)), nc)
	}
	return &Stream{nc: nc, in: bufio.NewReader(in), client: client}
}

// violation is an error of the peer.
type violation struct {
	code int
	text string
}

func (v *violation) Error() string { return "WebSocket: " + v.text }

// ReadMessage implements stream.MessageReader.
func (s *Stream) ReadMessage() ([]byte, error) {
	message, err := s.readMessage()
	v := (*violation)(nil)
	if errors.As(err, &v) {
		_ = s.sendClose(v.code) // the connection ends anyway
	}
	return message, err
}

func (s *Stream) readMessage() ([]byte, error) {
	s.message = s.message[:0]
	started := false
	for {
		h, err := s.readHeader()
		if err != nil {
			return nil, err
		}
		if h.op >= opClose {
			if err := s.control(h); err != nil {
				return nil, err
			}
			continue
		}
		if started != (h.op == opContinuation) {
			return nil, &violation{codeProtocol, "a message is not continued, or a continuation has no message"}
		}
		if !started {
			started, s.text = true, h.op == opText
		}
		if h.length > uint64(MaxMessage-len(s.message)) {
			return nil, &violation{codeTooBig, fmt.Sprintf("a message is longer than %d bytes", MaxMessage)}
		}
		if s.message, err = s.payload(s.message, h); err != nil {
			return nil, err
		}
		if !h.final {
			continue
		}
		if s.text && !utf8.Valid(s.message) {
			return nil, &violation{codeInvalid, "a text is not UTF-8"}
		}
		return s.message, nil
	}
}

// payload appends the payload of a frame. Memory grows with what arrives, not with what the header promises.
func (s *Stream) payload(to []byte, h header) ([]byte, error) {
	begin := len(to)
	for left := h.length; left > 0; {
		n := min(left, 64<<10)
		at := len(to)
		to = append(to, make([]byte, n)...)
		if _, err := io.ReadFull(s.in, to[at:]); err != nil {
			return to, noEOF(err)
		}
		left -= n
	}
	if !s.client {
		mask(to[begin:], h.mask)
	}
	return to, nil
}

func mask(b []byte, key [4]byte) {
	for i := range b {
		b[i] ^= key[i&3]
	}
}

// control handles a control frame.
func (s *Stream) control(h header) error {
	payload, err := s.payload(nil, h)
	if err != nil {
		return err
	}
	switch h.op {
	case opPing:
		return s.send(opPong, payload)
	case opClose:
		if len(payload) == 1 || len(payload) > 2 && !utf8.Valid(payload[2:]) {
			return &violation{codeProtocol, "a close frame is invalid"}
		}
		_ = s.sendClose(codeNormal) // the peer may be gone
		return io.EOF
	}
	return nil
}

// Read implements stream.Stream.
func (s *Stream) Read(b []byte) (int, error) {
	message, err := s.ReadMessage()
	if err != nil {
		return 0, err
	}
	if len(message) > len(b) {
		return 0, stream.ErrTooLong
	}
	return copy(b, message), nil
}

// Text implements stream.Texter.
func (s *Stream) Text() bool { return s.text }

// SetText implements stream.Texter.
func (s *Stream) SetText(text bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeText = text
}

// Write implements stream.Stream. Messages are binary unless SetText says otherwise.
func (s *Stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return 0, net.ErrClosed
	}
	op := byte(opBinary)
	if s.writeText {
		op = opText
	}
	return len(b), s.frame(op, b)
}

func (s *Stream) send(op byte, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil
	}
	return s.frame(op, b)
}

// frame sends a frame. It requires the lock.
func (s *Stream) frame(op byte, b []byte) error {
	s.out = append(s.out[:0], 0x80|op)
	bit := byte(0)
	if s.client {
		bit = 0x80
	}
	switch n := len(b); {
	case n < 126:
		s.out = append(s.out, bit|byte(n))
	case n <= 0xffff:
		s.out = binary.BigEndian.AppendUint16(append(s.out, bit|126), uint16(n))
	default:
		s.out = binary.BigEndian.AppendUint64(append(s.out, bit|127), uint64(n))
	}
	if !s.client {
		s.out = append(s.out, b...)
	} else {
		var key [4]byte
		binary.BigEndian.PutUint32(key[:], rand.Uint32())
		s.out = append(append(s.out, key[:]...), b...)
		mask(s.out[len(s.out)-len(b):], key)
	}
	_, err := s.nc.Write(s.out)
	if cap(s.out) > 1<<20 {
		s.out = nil
	}
	return err
}

func (s *Stream) sendClose(code int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil
	}
	s.closing = true
	return s.frame(opClose, binary.BigEndian.AppendUint16(nil, uint16(code)))
}

// CloseWrite implements stream.Stream: it sends a close frame. The peer may still send until its own.
func (s *Stream) CloseWrite() error { return s.sendClose(codeNormal) }

// closeTimeout limits the time for a close frame to a peer that does not read.
const closeTimeout = time.Second

// Close implements stream.Stream.
func (s *Stream) Close() error {
	_ = s.nc.SetWriteDeadline(time.Now().Add(closeTimeout)) // also interrupts a blocked write
	_ = s.sendClose(codeNormal)                             // the peer may be gone
	return s.nc.Close()
}

// Messages implements stream.Stream.
func (s *Stream) Messages() bool { return true }
