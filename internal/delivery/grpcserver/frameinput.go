package grpcserver

import (
	"sync"

	"anymesh.dev/anymesh/internal/h2frame"
)

// frameBuffer holds the longest frame.
type frameBuffer [h2frame.HeaderLen + h2frame.FrameSize]byte

// frameBuffers are used again: with long messages, nearly every read ends within a frame.
var frameBuffers = sync.Pool{New: func() any { return new(frameBuffer) }}

// shortFrame is the length up to which frames are buffered without a frameBuffer, in bytes.
const shortFrame = 1 << 10

// frameInput splits the input of a connection into frames, and buffers the incomplete one at the end.
type frameInput struct {
	begun    []byte // the incomplete frame, or the complete one that next returned
	complete bool
}

// next returns the next frame of the buffered input and data, and the rest of data. The frame is nil when data is used
// up; it is valid until the next call.
func (f *frameInput) next(data []byte) (frame, rest []byte, err error) {
	if f.complete {
		f.drop()
	}
	if len(f.begun) == 0 {
		frame, need, err := nextFrame(data)
		if err != nil || len(frame) > 0 || len(data) == 0 {
			return frame, data[len(frame):], err
		}
		f.grow(need)
	}
	for {
		frame, need, err := nextFrame(f.begun)
		if err != nil || len(frame) > 0 {
			f.complete = true
			return frame, data, err
		}
		if len(data) == 0 {
			return nil, nil, nil
		}
		f.grow(need)
		n := min(len(data), need-len(f.begun))
		f.begun = append(f.begun, data[:n]...)
		data = data[n:]
	}
}

// grow makes room for a frame with a length.
func (f *frameInput) grow(length int) {
	if length <= cap(f.begun) {
		return
	}
	var larger []byte
	if length > shortFrame && length <= len(frameBuffer{}) {
		larger = frameBuffers.Get().(*frameBuffer)[:0]
	} else {
		larger = make([]byte, 0, length)
	}
	larger = append(larger, f.begun...)
	f.drop()
	f.begun = larger
}

// drop empties the buffer.
func (f *frameInput) drop() {
	if cap(f.begun) == len(frameBuffer{}) {
		frameBuffers.Put((*frameBuffer)(f.begun[:len(frameBuffer{})]))
	}
	*f = frameInput{}
}
