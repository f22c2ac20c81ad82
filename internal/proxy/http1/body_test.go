package http1

import (
	"bytes"
	"testing"
)

// read returns the data of a body that comes in pieces.
func read(text string, piece int) (data []byte, rest int, done bool, err error) {
	var c Chunks
	var have []byte
	for at := 0; ; {
		for {
			one, used, err := c.Next(have)
			if err != nil {
				return data, 0, false, err
			}
			data = append(data, one...)
			if have = have[used:]; used == 0 || c.Done() {
				break
			}
		}
		if c.Done() || at == len(text) {
			return data, len(have) + len(text) - at, c.Done(), nil
		}
		end := min(len(text), at+piece)
		have = append(bytes.Clone(have), text[at:end]...)
		at = end
	}
}

func TestChunks(t *testing.T) {
	const text = "3\r\nabc\r\n00A; ext=\"x\"\r\n0123456789\r\n0\r\nX-Trailer: x\r\n\r\nNEXT"
	for piece := 1; piece <= len(text); piece++ {
		data, rest, done, err := read(text, piece)
		if string(data) != "abc0123456789" || !done || err != nil || rest < 4 && piece > 4 {
			t.Fatalf("pieces of %d: got %q, %v, %v, rest %d", piece, data, done, err, rest)
		}
	}
}

func TestRefusedChunks(t *testing.T) {
	for _, text := range []string{
		"3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n",
		"\r\nabc", "0x3\r\nabc\r\n", "+3\r\nabc\r\n", "-3\r\nabc\r\n", " 3\r\nabc\r\n", "3 \r\nabc\r\n", "3\t\r\nabc\r\n", "g\r\n",
		"1000000000000000\r\n", "3;\x00\r\nabc\r\n", "3;a\rb\r\nabc\r\n",
		"0\r\nTrailer\r\n\r\n", "0\r\nContent-Length: 1\r\n\r\n", "0\r\nTRANSFER-ENCODING: chunked\r\n\r\n", "0\r\nHost: b\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX : y\r\n\r\n", "0\r\nX: y\n\r\n", "0\n\n", "0\r\n\n",
		"3;" + string(bytes.Repeat([]byte("x"), 1000)),
		"0\r\nX: " + string(bytes.Repeat([]byte("x"), maxTrailer)),
	} {
		if data, _, done, err := read(text, len(text)); err == nil {
			t.Errorf("%q: got %q, done %v", text, data, done)
		}
	}
}

func TestResponses(t *testing.T) {
	for text, want := range map[string]int{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n":                      200,
		"HTTP/1.1 404\r\n\r\n":                                              404,
		"HTTP/1.0 599 \xc3\xa4\r\n\r\n":                                     599,
		"HTTP/1.1 2000 OK\r\n\r\n":                                          0,
		"HTTP/1.1 099 OK\r\n\r\n":                                           0,
		"HTTP/1.1 +20 OK\r\n\r\n":                                           0,
		"HTTP/2.0 200 OK\r\n\r\n":                                           0,
		"HTTP/1.1  200 OK\r\n\r\n":                                          0,
		"HTTP/1.1 200 O\rK\r\n\r\n":                                         0,
		"HTTP/1.1 200 OK\nX: y\r\n\r\n":                                     0,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n": 0,
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n": 0,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n":                         0,
		"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n":                                      0,
	} {
		var r Response
		size, err := r.Parse([]byte(text), 0, DefaultLimits)
		if want == 0 && err == nil || want != 0 && (err != nil || size != len(text) || r.Status != want) {
			t.Errorf("%q: got status %d, size %d, error %v", text, r.Status, size, err)
		}
	}
}

func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Response
		size, err := r.Parse(data, 0, DefaultLimits)
		if size > len(data) || err == nil && size > 0 && (r.Status < 100 || r.Length >= 0 && r.Chunked) {
			t.Errorf("%q: size %d, %+v", data, size, r)
		}
	})
}

// The pieces in which a body comes do not matter.
func FuzzChunks(f *testing.F) {
	f.Add("3\r\nabc\r\n0\r\n\r\n", 2)
	f.Fuzz(func(t *testing.T, text string, piece int) {
		piece = 1 + min(max(piece, -piece), 1000)&0x3ff
		a, _, doneA, errA := read(text, len(text)+1)
		b, _, doneB, errB := read(text, piece)
		if !bytes.Equal(a, b) || doneA != doneB || (errA == nil) != (errB == nil) {
			t.Errorf("%q, at once: %q, %v, %v; in pieces of %d: %q, %v, %v", text, a, doneA, errA, piece, b, doneB, errB)
		}
	})
}
