package websocket

import (
	"encoding/binary"
	"errors"
	"io"
)

// header is that of a frame.
type header struct {
	final  bool
	op     byte
	length uint64
	mask   [4]byte
}

func (s *Stream) readHeader() (h header, err error) {
	var b [8]byte
	if _, err := io.ReadFull(s.in, b[:2]); err != nil {
		return h, noEOF(err)
	}
	h.final, h.op, h.length = b[0]&0x80 != 0, b[0]&0xf, uint64(b[1]&0x7f)
	masked := b[1]&0x80 != 0
	switch {
	case b[0]&0x70 != 0:
		return h, &violation{codeProtocol, "a frame has reserved bits"}
	case h.op > opBinary && h.op < opClose || h.op > opPong:
		return h, &violation{codeProtocol, "a frame has an unknown opcode"}
	case masked == s.client:
		return h, &violation{codeProtocol, "frames of clients must be masked, those of servers must not"}
	case h.op >= opClose && (!h.final || h.length > 125):
		return h, &violation{codeProtocol, "a control frame is fragmented or too long"}
	}
	switch h.length {
	case 126:
		if _, err := io.ReadFull(s.in, b[:2]); err != nil {
			return h, noEOF(err)
		}
		if h.length = uint64(binary.BigEndian.Uint16(b[:])); h.length < 126 {
			return h, &violation{codeProtocol, "the length of a frame is not minimal"}
		}
	case 127:
		if _, err := io.ReadFull(s.in, b[:8]); err != nil {
			return h, noEOF(err)
		}
		if h.length = binary.BigEndian.Uint64(b[:]); h.length <= 0xffff || h.length>>63 != 0 {
			return h, &violation{codeProtocol, "the length of a frame is not minimal, or too large"}
		}
	}
	if masked {
		_, err = io.ReadFull(s.in, h.mask[:])
	}
	return h, noEOF(err)
}

// noEOF returns another error for the end of a connection without a close frame.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("WebSocket: the connection ended without a close frame")
	}
	return err
}
