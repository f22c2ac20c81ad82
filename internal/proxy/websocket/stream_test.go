package websocket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// script is a connection whose input is given.
type script struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)       { return s.in.Read(p) }
func (s *script) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) Close() error                     { return nil }

// frame returns a masked frame of a client.
func frame(first byte, payload string) []byte {
	out := []byte{first, 0x80 | byte(len(payload)), 1, 2, 3, 4}
	for i := range len(payload) {
		out = append(out, payload[i]^byte(i&3+1))
	}
	return out
}

func server(in ...[]byte) (*Stream, *script) {
	s := &script{in: bytes.NewReader(bytes.Join(in, nil))}
	return newStream(s, nil, false), s
}

// Fragments are one message, with control frames between them; pings are answered; a close frame is the end.
func TestMessages(t *testing.T) {
	s, out := server(frame(0x01, "a"), frame(0x89, "ping"), frame(0x00, "b"), frame(0x80, "c"), frame(0x82, ""), frame(0x88, "\x03\xe8"))
	if m, err := s.ReadMessage(); string(m) != "abc" || err != nil || !s.Text() {
		t.Errorf("got %q, error %v", m, err)
	}
	if m, err := s.ReadMessage(); len(m) != 0 || err != nil || s.Text() {
		t.Errorf("empty message: got %q, error %v", m, err)
	}
	if _, err := s.ReadMessage(); !errors.Is(err, io.EOF) {
		t.Errorf("got error %v", err)
	}
	if got := out.out.String(); got != "\x8a\x04ping\x88\x02\x03\xe8" {
		t.Errorf("sent %q", got)
	}
}

func TestViolations(t *testing.T) {
	long := []byte{0x82, 0xff, 0, 0, 0, 0, 0xff, 0, 0, 0, 1, 2, 3, 4}
	for name, c := range map[string]struct {
		in   []byte
		code uint16
	}{
		"reserved bit":        {frame(0xc1, "a"), codeProtocol},
		"unknown opcode":      {frame(0x83, "a"), codeProtocol},
		"not masked":          {[]byte{0x81, 1, 'a'}, codeProtocol},
		"lone continuation":   {frame(0x80, "a"), codeProtocol},
		"interrupted message": {append(frame(0x01, "a"), frame(0x81, "b")...), codeProtocol},
		"fragmented ping":     {frame(0x09, "a"), codeProtocol},
		"long ping":           {[]byte{0x89, 0xfe, 0, 126, 1, 2, 3, 4}, codeProtocol},
		"length not minimal":  {[]byte{0x82, 0xfe, 0, 1, 1, 2, 3, 4, 5}, codeProtocol},
		"invalid UTF-8":       {frame(0x81, "\xff"), codeInvalid},
		"too long":            {long, codeTooBig},
		"close with one byte": {frame(0x88, "\x03"), codeProtocol},
	} {
		s, out := server(c.in)
		if m, err := s.ReadMessage(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: got %q, error %v", name, m, err)
		}
		if got := out.out.Bytes(); len(got) != 4 || got[0] != 0x88 || binary.BigEndian.Uint16(got[2:]) != c.code {
			t.Errorf("%s: sent %q, want a close frame with %d", name, got, c.code)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add(frame(0x81, "hello"), false)
	f.Add([]byte{0x82, 126, 0, 200}, true)
	f.Fuzz(func(t *testing.T, data []byte, client bool) {
		s := newStream(&script{in: bytes.NewReader(data)}, nil, client)
		for {
			m, err := s.ReadMessage()
			if err != nil {
				return
			}
			if len(m) > len(data) {
				t.Fatalf("a message of %d bytes from %d", len(m), len(data))
			}
		}
	})
}
