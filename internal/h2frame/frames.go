package h2frame

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// Sizes of HTTP/2, in bytes.
const (
	// HeaderLen is the length of the header of a frame.
	HeaderLen = 9
	// FrameSize is the frame size that every endpoint accepts (RFC 9113, 4.2).
	FrameSize = 16 << 10
	// InitialWindow is the initial flow-control window (RFC 9113, 6.9.2), LargestWindow the largest.
	InitialWindow = 1<<16 - 1
	LargestWindow = 1<<31 - 1
)

// Offsets in the header of a frame (RFC 9113, 4.1).
const (
	TypeOffset     = 3
	FlagsOffset    = 4
	StreamIDOffset = 5
)

// AppendHeader appends the header of a frame.
func AppendHeader(b []byte, kind http2.FrameType, flags http2.Flags, stream uint32, length int) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags))
	return binary.BigEndian.AppendUint32(b, stream)
}

// AppendSettings appends a SETTINGS frame.
func AppendSettings(b []byte, settings ...http2.Setting) []byte {
	b = AppendHeader(b, http2.FrameSettings, 0, 0, 6*len(settings))
	for _, s := range settings {
		b = binary.BigEndian.AppendUint16(b, uint16(s.ID))
		b = binary.BigEndian.AppendUint32(b, s.Val)
	}
	return b
}

// AppendSettingsAck appends the acknowledgment of SETTINGS.
func AppendSettingsAck(b []byte) []byte {
	return AppendHeader(b, http2.FrameSettings, http2.FlagSettingsAck, 0, 0)
}

// AppendPing appends a PING frame.
func AppendPing(b []byte, flags http2.Flags, data [8]byte) []byte {
	return append(AppendHeader(b, http2.FramePing, flags, 0, len(data)), data[:]...)
}

// AppendWindowUpdate appends a WINDOW_UPDATE frame.
func AppendWindowUpdate(b []byte, stream uint32, by int) []byte {
	return binary.BigEndian.AppendUint32(AppendHeader(b, http2.FrameWindowUpdate, 0, stream, 4), uint32(by))
}

// AppendRSTStream appends a RST_STREAM frame.
func AppendRSTStream(b []byte, stream uint32, code http2.ErrCode) []byte {
	return binary.BigEndian.AppendUint32(AppendHeader(b, http2.FrameRSTStream, 0, stream, 4), uint32(code))
}

// AppendGoAway appends a GOAWAY frame.
func AppendGoAway(b []byte, last uint32, code http2.ErrCode) []byte {
	b = AppendHeader(b, http2.FrameGoAway, 0, 0, 8)
	b = binary.BigEndian.AppendUint32(b, last)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

// AppendField appends a literal header field without indexing (RFC 7541, 6.2.2), so that the encoder has no state.
func AppendField(b []byte, name, value string) []byte {
	b = append(b, 0)
	for _, text := range []string{name, value} {
		b = appendInteger(b, len(text))
		b = append(b, text...)
	}
	return b
}

// appendInteger appends an HPACK integer with a 7-bit prefix and a first bit of 0 (RFC 7541, 5.1).
func appendInteger(b []byte, n int) []byte {
	const most = 1<<7 - 1
	if n < most {
		return append(b, byte(n))
	}
	b = append(b, most)
	for n -= most; n >= 1<<7; n >>= 7 {
		b = append(b, byte(n)|1<<7)
	}
	return append(b, byte(n))
}
