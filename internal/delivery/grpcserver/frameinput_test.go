package grpcserver

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/http2"

	"anymesh.dev/anymesh/internal/h2frame"
)

// Frames are the same, however the input is cut.
func TestFrameInput(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var frames [][]byte
	for range 200 {
		size := []int{0, 1, 100, shortFrame, 5000, h2frame.FrameSize}[random.IntN(6)]
		frame := h2frame.AppendHeader(nil, http2.FrameData, 0, 1, size)
		for range size {
			frame = append(frame, byte(random.Uint32()))
		}
		frames = append(frames, frame)
	}
	headers := h2frame.AppendHeader(nil, http2.FrameHeaders, 0, 1, h2frame.FrameSize)
	headers = append(headers, make([]byte, h2frame.FrameSize)...)
	headers = h2frame.AppendHeader(headers, http2.FrameContinuation, http2.FlagContinuationEndHeaders, 1, 1)
	frames = append(frames, append(headers, 1)) // longer than a frameBuffer
	for _, most := range []int{1, 2, 10, 1000, h2frame.FrameSize, 3 * h2frame.FrameSize} {
		var input frameInput
		n, left := 0, bytes.Join(frames, nil)
		for len(left) > 0 {
			part := bytes.Clone(left[:min(len(left), 1+random.IntN(most))])
			left = left[len(part):]
			for rest := part; ; n++ {
				frame, behind, err := input.next(rest)
				if err != nil {
					t.Fatal(err)
				}
				if frame == nil {
					break
				}
				if !bytes.Equal(frame, frames[n]) {
					t.Fatalf("frame %d in parts of up to %d bytes is not the same", n, most)
				}
				rest = behind
			}
			clear(part) // the caller uses its buffer again
		}
		if n != len(frames) {
			t.Errorf("%d frames in parts of up to %d bytes, want %d", n, most, len(frames))
		}
	}
}

// Long frames that are cut make no garbage.
func TestFrameInputAllocations(t *testing.T) {
	frame := h2frame.AppendHeader(nil, http2.FrameData, 0, 1, h2frame.FrameSize)
	frame = append(frame, make([]byte, h2frame.FrameSize)...)
	var input frameInput
	if n := testing.AllocsPerRun(100, func() {
		for _, part := range [][]byte{frame[:5000], frame[5000:]} {
			if _, _, err := input.next(part); err != nil {
				t.Fatal(err)
			}
		}
	}); n >= 1 { // the pool may be empty now and then
		t.Errorf("%v allocations", n)
	}
}
