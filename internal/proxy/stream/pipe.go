package stream

import (
	"io"
	"net"
	"sync"
)

// maxPiped limits what waits in a pipe, in bytes and in messages.
const (
	maxPipedBytes    = 1 << 20
	maxPipedMessages = 4096
)

// Pipe is a message stream whose reads return what was written. Writes wait while the pipe is full.
type Pipe struct {
	// Transform changes each message; may be nil. It may keep its argument.
	Transform func([]byte) []byte
	// OnClose is called once, when the pipe is closed; may be nil. It may use the pipe.
	OnClose func()

	mu      sync.Mutex
	changed sync.Cond
	queue   [][]byte
	bytes   int
	ended   bool // by CloseWrite
	closed  bool
}

// NewPipe returns an empty pipe.
func NewPipe(transform func([]byte) []byte) *Pipe {
	p := &Pipe{Transform: transform}
	p.changed.L = &p.mu
	return p
}

// Write implements Stream.
func (p *Pipe) Write(b []byte) (int, error) {
	message := append(make([]byte, 0, len(b)), b...)
	if p.Transform != nil {
		message = p.Transform(message)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && !p.ended && (p.bytes > maxPipedBytes || len(p.queue) >= maxPipedMessages) {
		p.changed.Wait()
	}
	if p.closed || p.ended {
		return 0, net.ErrClosed
	}
	p.push(message)
	return len(b), nil
}

// Offer writes a message if the pipe is not full.
func (p *Pipe) Offer(message []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.ended || p.bytes > maxPipedBytes || len(p.queue) >= maxPipedMessages {
		return false
	}
	p.push(message)
	return true
}

func (p *Pipe) push(message []byte) {
	p.queue = append(p.queue, message)
	p.bytes += len(message)
	p.changed.Broadcast()
}

// ReadMessage implements MessageReader.
func (p *Pipe) ReadMessage() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) == 0 {
		switch {
		case p.closed:
			return nil, net.ErrClosed
		case p.ended:
			return nil, io.EOF
		}
		p.changed.Wait()
	}
	message := p.queue[0]
	p.queue[0] = nil
	if p.queue = p.queue[1:]; len(p.queue) == 0 {
		p.queue = nil
	}
	p.bytes -= len(message)
	p.changed.Broadcast()
	return message, nil
}

// Read implements Stream.
func (p *Pipe) Read(b []byte) (int, error) {
	message, err := p.ReadMessage()
	if err != nil {
		return 0, err
	}
	if len(message) > len(b) {
		return 0, ErrTooLong
	}
	return copy(b, message), nil
}

// CloseWrite implements Stream: reads return io.EOF after what is there.
func (p *Pipe) CloseWrite() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.changed.Broadcast()
	return nil
}

// Close implements Stream.
func (p *Pipe) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	if first && p.OnClose != nil {
		p.OnClose()
	}
	return nil
}

// Messages implements Stream.
func (p *Pipe) Messages() bool { return true }
