package grpcserver

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
)

// unlimitedConn is a connection that fills each Read completely.
type unlimitedConn struct {
	net.Conn
	data bytes.Buffer
}

func (s *unlimitedConn) Read(p []byte) (int, error) { return s.data.Read(p) }

func TestReadStopsAtLargeRecordEnd(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 8))
		var all []byte
		large := map[int]bool{} // ends of large records
		for range 20 {
			size := rng.IntN(16 << 10)
			if rng.IntN(2) == 0 {
				size = rng.IntN(100)
			}
			all = append(all, 23, 3, 3, byte(size>>8), byte(size))
			all = append(all, make([]byte, size)...)
			if size > peek {
				large[len(all)] = true
			}
		}
		s := &unlimitedConn{}
		s.data.Write(all)
		c := &recordConn{Conn: s}
		var got []byte
		p := make([]byte, 64<<10)
		for {
			n, err := c.Read(p[:1+rng.IntN(len(p))])
			for end := range large {
				if len(got) < end && len(got)+n > end {
					t.Fatalf("seed %d: a read from %d to %d crosses the end of a record at %d", seed, len(got),
						len(got)+n, end)
				}
			}
			got = append(got, p[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
		}
		if !bytes.Equal(got, all) {
			t.Fatalf("seed %d: other bytes", seed)
		}
	}
}
