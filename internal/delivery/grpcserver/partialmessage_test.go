package grpcserver

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Messages that arrive in pieces are the same again, and their buffers are not larger than is charged.
func TestPartialMessage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var p partialMessage
	for _, size := range []int{0, 1, 100, chunkSize, chunkSize + 1, 2 * chunkSize, 5*chunkSize - 1} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(random.Uint32())
		}
		left := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(size)), want...)
		for p.prefixSize < messagePrefixLen {
			n := min(len(left), 1+random.IntN(messagePrefixLen))
			left = append(p.addPrefix(left[:n]), left[n:]...)
		}
		for len(left) > 0 {
			n := min(len(left), 1+random.IntN(chunkSize/2))
			charged := p.capacityFor(n)
			p.add(left[:n])
			left = left[n:]
			if has := cap(p.short) + len(p.long)*chunkSize; has > charged || has > 2*p.size+chunkSize {
				t.Errorf("%d bytes for %d of %d, charged %d", has, p.size, size, charged)
			}
		}
		if got := p.take(); !bytes.Equal(got, want) || !p.empty() {
			t.Errorf("a message of %d bytes is not the same again", size)
		}
	}
}

// The buffer of a long message is used again after its release, with the content of the next message only.
func TestBuffersOfLongMessagesAreUsedAgain(t *testing.T) {
	takeOne := func(content byte, size int) []byte {
		var p partialMessage
		p.addPrefix(binary.BigEndian.AppendUint32([]byte{0}, uint32(size)))
		p.add(bytes.Repeat([]byte{content}, size))
		message := p.take()
		if want := bytes.Repeat([]byte{content}, size); !bytes.Equal(message, want) {
			t.Fatalf("got a message of %d bytes that is not %d times %d", len(message), size, content)
		}
		return message
	}
	for range 1000 { // the pool drops some buffers at random if the race detector is on
		first := takeOne(1, 3*chunkSize)
		release(first)
		if second := takeOne(2, 2*chunkSize); &first[0] == &second[0] {
			return
		}
	}
	t.Error("no buffer is used again")
}

// A short message does not hold the buffer of a much longer one, for which it is not charged.
func TestBuffersOfLongMessagesAreNotTooLarge(t *testing.T) {
	for range 100 { // the pool may drop some buffers
		release(make([]byte, 10*chunkSize))
		if message := longMessage(2 * chunkSize); cap(message) > 4*chunkSize {
			t.Fatalf("a message of %d bytes has a buffer of %d", 2*chunkSize, cap(message))
		}
	}
}
