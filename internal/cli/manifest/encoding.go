package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// toUTF8 returns a text as UTF-8 without a byte order mark. It reads UTF-16 with a byte order mark, as kubectl does.
func toUTF8(text []byte) ([]byte, error) {
	rest, marked := bytes.CutPrefix(text, []byte("\uFEFF"))
	switch {
	case marked:
		return rest, nil
	case bytes.HasPrefix(text, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(text, []byte{0, 0, 0xfe, 0xff}):
		return nil, errors.New("the file is UTF-32; save it as UTF-8")
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		return fromUTF16(text[2:], binary.LittleEndian)
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		return fromUTF16(text[2:], binary.BigEndian)
	case bytes.IndexByte(text, 0) >= 0:
		return nil, errors.New("the file has zero bytes: it is binary, or UTF-16 without a byte order mark; save it as UTF-8")
	case !utf8.Valid(text):
		return nil, errors.New("the file is not valid UTF-8; save it as UTF-8")
	}
	return text, nil
}

func fromUTF16(text []byte, order binary.ByteOrder) ([]byte, error) {
	invalid := errors.New("the file has the byte order mark of UTF-16, but is not valid UTF-16; save it as UTF-8")
	if len(text)%2 != 0 {
		return nil, invalid
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i += 2 {
		r := rune(order.Uint16(text[i:]))
		if utf16.IsSurrogate(r) {
			if i += 2; i == len(text) {
				return nil, invalid
			}
			if r = utf16.DecodeRune(r, rune(order.Uint16(text[i:]))); r == utf8.RuneError {
				return nil, invalid
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}
