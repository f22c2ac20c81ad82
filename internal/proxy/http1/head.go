package http1

import "bytes"

// Limits bound the heads of messages.
type Limits struct {
	// Head is the maximum size of a head in bytes, Fields the maximum number of its fields.
	Head, Fields int
}

// DefaultLimits are the limits of heads.
var DefaultLimits = Limits{Head: 60 << 10, Fields: 100}

// Error is a message that is refused. Status is the status of the response to a request.
type Error struct {
	Status int
	Text   string
}

func (e *Error) Error() string { return e.Text }

// The errors of heads.
var (
	errHeadSize    = &Error{431, "the head is too long"}
	errFieldCount  = &Error{431, "the head has too many fields"}
	errLineEnd     = &Error{400, "a line does not end with CR LF"}
	errFieldName   = &Error{400, "the name of a field is no token"}
	errFieldValue  = &Error{400, "the value of a field has control characters"}
	errFold        = &Error{400, "a field is folded"}
	errLength      = &Error{400, "Content-Length is not one number"}
	errLengthTwice = &Error{400, "Content-Length is repeated"}
	errCoding      = &Error{501, "the only supported Transfer-Encoding is chunked"}
	errCodingTwice = &Error{400, "Transfer-Encoding is repeated"}
	errBothLengths = &Error{400, "Transfer-Encoding and Content-Length are both set"}
	errCodingIn10  = &Error{400, "Transfer-Encoding in HTTP/1.0"}
	errConnection  = &Error{400, "Connection names a field that is no option of the connection"}
	errHostMissing = &Error{400, "Host is missing"}
	errHostTwice   = &Error{400, "Host is repeated"}
	errHost        = &Error{400, "Host is invalid"}
	errRequestLine = &Error{400, "the request line is invalid"}
	errMethod      = &Error{501, "the method is not supported"}
	errTarget      = &Error{400, "the request target is invalid"}
	errPath        = &Error{400, "the path has dot segments or encoded control characters"}
	errVersion     = &Error{505, "the only supported versions are HTTP/1.0 and HTTP/1.1"}
	errExpectation = &Error{417, "the only supported expectation is 100-continue"}
	errStatusLine  = &Error{502, "the status line is invalid"}
)

// Field is one field of a head.
type Field struct {
	Name, Value []byte
	// Hop tells that the field is for this connection only and is not forwarded.
	Hop bool
}

// head has what requests and responses have in common.
type head struct {
	// Fields are the fields in their order.
	Fields []Field
	// Minor is the minor version: 0 or 1.
	Minor int
	// Length is the size of the body; negative if it is not given.
	Length int64
	// Chunked tells that the body has chunks.
	Chunked bool
	// Close tells that the connection ends after the message.
	Close bool
	// Upgrade is the value of the field if Connection has this option.
	Upgrade []byte

	host      []byte
	expect    bool
	upgrade   []byte
	keepAlive bool
	optioned  bool // Connection has the option upgrade
	named     bool // Connection names other fields
}

// Get returns the value of the first field with a name in lower-case letters.
func (h *head) Get(name string) (value []byte, has bool) {
	for i := range h.Fields {
		if is(h.Fields[i].Name, name) {
			return h.Fields[i].Value, true
		}
	}
	return nil, false
}

// headEnd returns the size of the head at the start of the data; 0 if it is not complete. Before from there is no end.
func headEnd(data []byte, from int, l Limits) (int, error) {
	from = max(0, from-3)
	if i := bytes.Index(data[from:], []byte("\r\n\r\n")); i >= 0 {
		if from+i+4 > l.Head {
			return 0, errHeadSize
		}
		return from + i + 4, nil
	}
	if len(data) >= l.Head {
		return 0, errHeadSize
	}
	for at := from; ; at++ { // a head with other line ends would never be complete
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return 0, nil
		}
		if at += i; at == 0 || data[at-1] != '\r' {
			return 0, errLineEnd
		}
	}
}

// line returns the first line without its end, and the rest.
func line(data []byte) (first, rest []byte, err error) {
	i := bytes.IndexByte(data, '\n')
	if i < 1 || data[i-1] != '\r' {
		return nil, nil, errLineEnd
	}
	return data[:i-1], data[i+1:], nil
}

// parseFields parses the fields of a head up to the empty line.
func (h *head) parseFields(data []byte, l Limits) error {
	h.Fields = h.Fields[:0]
	h.Length, h.Chunked, h.Close, h.Upgrade = -1, false, false, nil
	h.host, h.expect, h.upgrade, h.keepAlive, h.optioned, h.named = nil, false, nil, false, false, false
	for {
		text, rest, err := line(data)
		if err != nil {
			return err
		}
		if len(text) == 0 {
			return h.finish()
		}
		data = rest
		if len(h.Fields) == l.Fields {
			return errFieldCount
		}
		if text[0] == ' ' || text[0] == '\t' {
			return errFold
		}
		colon := bytes.IndexByte(text, ':')
		if colon < 1 || !all(text[:colon], tokenByte) {
			return errFieldName
		}
		f := Field{Name: text[:colon], Value: trim(text[colon+1:])}
		if !all(f.Value, valueByte) {
			return errFieldValue
		}
		if err := h.known(&f); err != nil {
			return err
		}
		h.Fields = append(h.Fields, f)
	}
}

func trim(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}

// known handles the fields that say how the message is framed, or that are for this connection.
func (h *head) known(f *Field) error {
	switch len(f.Name) {
	case 2:
		f.Hop = is(f.Name, "te")
	case 4:
		if is(f.Name, "host") {
			if h.host != nil {
				return errHostTwice
			}
			if !all(f.Value, hostByte) {
				return errHost
			}
			h.host = f.Value
		}
	case 6:
		if is(f.Name, "expect") {
			if !is(f.Value, "100-continue") {
				return errExpectation
			}
			h.expect, f.Hop = true, true
		}
	case 7:
		if is(f.Name, "upgrade") {
			h.upgrade, f.Hop = f.Value, true
		}
	case 10:
		if is(f.Name, "connection") {
			f.Hop = true
			return h.options(f.Value)
		}
		f.Hop = is(f.Name, "keep-alive")
	case 14:
		if is(f.Name, "content-length") {
			return h.contentLength(f.Value)
		}
		f.Hop = is(f.Name, "http2-settings")
	case 16:
		f.Hop = is(f.Name, "proxy-connection")
	case 17:
		if is(f.Name, "transfer-encoding") {
			if h.Chunked {
				return errCodingTwice
			}
			if !is(f.Value, "chunked") {
				return errCoding
			}
			h.Chunked, f.Hop = true, true
		}
	}
	return nil
}

func (h *head) contentLength(value []byte) error {
	if h.Length >= 0 {
		return errLengthTwice
	}
	if len(value) == 0 || len(value) > 18 {
		return errLength
	}
	n := int64(0)
	for _, b := range value {
		if b < '0' || b > '9' {
			return errLength
		}
		n = n*10 + int64(b-'0')
	}
	h.Length = n
	return nil
}
