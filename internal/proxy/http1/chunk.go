package http1

import "bytes"

// The errors of chunks.
var (
	errChunkSize    = &Error{400, "the size of a chunk is invalid"}
	errChunkEnd     = &Error{400, "a chunk does not end with CR LF"}
	errTrailer      = &Error{400, "a trailer is invalid, or belongs into the head"}
	errTrailerSize  = &Error{431, "the trailers are too long"}
	errChunkExtSize = &Error{400, "the extension of a chunk is too long"}
)

// chunkState is the state of a parser of chunks.
type chunkState uint8

const (
	inSize chunkState = iota
	inData
	atEnd // of the data of a chunk
	inTrailer
	done
)

// maxChunkLine limits the line with the size of a chunk, maxTrailer all trailers, in bytes.
const (
	maxChunkLine = 256
	maxTrailer   = 32 << 10
)

// Chunks parses a body of chunks. It is ready after Reset.
type Chunks struct {
	// Trailer are the lines of the trailers so far, each with CR LF at its end.
	Trailer []byte

	state   chunkState
	left    int64 // data of the current chunk
	trailer int   // size of the trailers so far
}

// Reset starts a new body.
func (c *Chunks) Reset() { *c = Chunks{} }

// Done reports whether the body has ended.
func (c *Chunks) Done() bool { return c.state == done }

// Next returns the next piece of data at the start of the input, and the size of the input that it used, which is 0 if
// more input is needed. Extensions are checked and dropped. Trailers are checked and kept.
func (c *Chunks) Next(in []byte) (data []byte, used int, err error) {
	for c.state != done && used < len(in) {
		rest := in[used:]
		switch c.state {
		case inData:
			n := int(min(c.left, int64(len(rest))))
			if c.left -= int64(n); c.left == 0 {
				c.state = atEnd
			}
			return rest[:n], used + n, nil
		case atEnd:
			if rest[0] != '\r' || len(rest) > 1 && rest[1] != '\n' {
				return nil, 0, errChunkEnd
			}
			if len(rest) < 2 {
				return nil, used, nil
			}
			c.state, used = inSize, used+2
			continue
		}
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return nil, used, c.tooLong(len(rest))
		}
		if err := c.tooLong(end); err != nil {
			return nil, 0, err
		}
		if end == 0 || rest[end-1] != '\r' {
			return nil, 0, errLineEnd
		}
		if err := c.line(rest[:end-1]); err != nil {
			return nil, 0, err
		}
		used += end + 1
	}
	return nil, used, nil
}

func (c *Chunks) tooLong(size int) error {
	switch {
	case c.state == inTrailer && c.trailer+size > maxTrailer:
		return errTrailerSize
	case c.state == inSize && size > maxChunkLine:
		return errChunkExtSize
	}
	return nil
}

// line handles a line with a size, or a trailer.
func (c *Chunks) line(text []byte) error {
	if c.state == inTrailer {
		c.trailer += len(text)
		if len(text) == 0 {
			c.state = done
			return nil
		}
		colon := bytes.IndexByte(text, ':')
		if colon < 1 || !all(text[:colon], tokenByte) || !all(text[colon:], valueByte) || onlyInHead(text[:colon]) {
			return errTrailer
		}
		c.Trailer = append(append(c.Trailer, text...), "\r\n"...)
		return nil
	}
	size, extension, has := bytes.Cut(text, []byte{';'})
	if has {
		size = trim(size)
		if !all(extension, valueByte) {
			return errChunkSize
		}
	}
	if len(size) == 0 || len(size) > 15 || !all(size, hexByte) {
		return errChunkSize
	}
	c.left = 0
	for _, b := range size {
		c.left = c.left<<4 | int64(unhex(b))
	}
	c.state = inData
	if c.left == 0 {
		c.state = inTrailer
	}
	return nil
}
