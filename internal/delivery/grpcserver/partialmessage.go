package grpcserver

import (
	"encoding/binary"
	"sync"
)

// chunkSize is the size of the parts in which a long incomplete message is buffered, in bytes.
const chunkSize = 32 << 10

type chunk [chunkSize]byte

// chunks are used again: messages that never end make no garbage.
var chunks = sync.Pool{New: func() any { return new(chunk) }}

// longMessages are the buffers of handled messages that were longer than a chunk. They are used again: a client that
// subscribes to thousands of names sends them for each type.
var longMessages sync.Pool

// longMessage returns an empty buffer for a message, at most twice as large: a message that waits is charged with its
// own size.
func longMessage(size int) []byte {
	if used, is := longMessages.Get().(*[]byte); is && cap(*used) >= size && cap(*used) <= 2*size {
		return (*used)[:0]
	}
	return make([]byte, 0, size)
}

// release has the buffer of a handled message used again.
func release(message []byte) {
	if cap(message) > chunkSize {
		longMessages.Put(&message)
	}
}

// partialMessage buffers the beginning of a message with its prefix.
type partialMessage struct {
	prefix     [messagePrefixLen]byte
	prefixSize int      // received bytes of the prefix
	size       int      // received bytes after the prefix
	short      []byte   // a message of up to chunkSize
	long       []*chunk // a longer one
}

func (p *partialMessage) empty() bool { return p.prefixSize == 0 }

// addPrefix adds the beginning of data to an incomplete prefix, and returns the rest of data.
func (p *partialMessage) addPrefix(data []byte) []byte {
	n := copy(p.prefix[p.prefixSize:], data)
	p.prefixSize += n
	return data[n:]
}

// messageSize is the length of the message, which a complete prefix announces.
func (p *partialMessage) messageSize() int { return int(binary.BigEndian.Uint32(p.prefix[1:])) }

// capacityFor returns the capacity after n more bytes.
func (p *partialMessage) capacityFor(n int) int {
	if p.messageSize() <= chunkSize {
		if need := len(p.short) + n; need > cap(p.short) {
			return max(need, min(2*need, p.messageSize()))
		}
		return cap(p.short)
	}
	return (p.size + n + chunkSize - 1) / chunkSize * chunkSize
}

// add adds data, which is not longer than the rest of the message.
func (p *partialMessage) add(data []byte) {
	if p.messageSize() <= chunkSize {
		if n := p.capacityFor(len(data)); n > cap(p.short) {
			p.short = append(make([]byte, 0, n), p.short...)
		}
		p.size += len(data)
		p.short = append(p.short, data...)
		return
	}
	for len(data) > 0 {
		at := p.size % chunkSize
		if at == 0 {
			p.long = append(p.long, chunks.Get().(*chunk))
		}
		n := copy(p.long[len(p.long)-1][at:], data)
		p.size += n
		data = data[n:]
	}
}

// take returns the message, which is to be released, and empties the buffer.
func (p *partialMessage) take() []byte {
	message := p.short
	if len(p.long) > 0 {
		message = longMessage(p.size)
		for _, c := range p.long {
			message = append(message, c[:min(chunkSize, p.size-len(message))]...)
		}
	}
	p.drop()
	return message
}

// drop empties the buffer.
func (p *partialMessage) drop() {
	for _, c := range p.long {
		chunks.Put(c)
	}
	*p = partialMessage{}
}
