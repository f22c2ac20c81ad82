package http1

// Classes of bytes.
const (
	tokenByte  = 1 << iota // in names and methods: RFC 9110, 5.6.2
	valueByte              // in values of fields: visible, obs-text, space and tab
	targetByte             // in request targets: visible ASCII without those that RFC 3986 excludes
	hostByte               // in Host: reg-name, IP addresses, port
	hexByte
)

// class has the classes of each byte.
var class = func() (out [256]uint8) {
	for b := range 256 {
		c := byte(b)
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		if letter || digit || contains("!#$%&'*+-.^_`|~", c) {
			out[b] |= tokenByte
		}
		if c >= ' ' && c != 0x7f || c == '\t' {
			out[b] |= valueByte
		}
		if c > ' ' && c < 0x7f && !contains(`"<>\^`+"`{|}#", c) {
			out[b] |= targetByte
		}
		if letter || digit || contains("-._~%!$&'()*+,;=:[]", c) {
			out[b] |= hostByte
		}
		if digit || c|0x20 >= 'a' && c|0x20 <= 'f' {
			out[b] |= hexByte
		}
	}
	return out
}()

func contains(s string, c byte) bool {
	for i := range len(s) {
		if s[i] == c {
			return true
		}
	}
	return false
}

// all reports whether all bytes are of a class.
func all(text []byte, c uint8) bool {
	for _, b := range text {
		if class[b]&c == 0 {
			return false
		}
	}
	return true
}

// is reports whether text is a word, which has lower-case letters, in any case.
func is(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, b := range text {
		if b >= 'A' && b <= 'Z' {
			b |= 0x20
		}
		if b != word[i] {
			return false
		}
	}
	return true
}

// Is reports whether the name of a field is a word, which has lower-case letters.
func Is(name []byte, word string) bool { return is(name, word) }
