package aggregate

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLargeBodiesAreCompressedForClientsThatAcceptIt(t *testing.T) {
	for _, test := range []struct {
		accept string
		size   int
		want   bool
	}{
		{"gzip", compressFrom + 1, true},
		{"deflate, GZIP;q=0.5", compressFrom * 3, true},
		{"gzip", compressFrom, false},
		{"", compressFrom + 1, false},
		{"gzip;q=0", compressFrom + 1, false},
		{"gzip; q=0.0", compressFrom + 1, false},
		{"br, identity", compressFrom + 1, false},
		{"*", compressFrom + 1, false},
	} {
		want := []byte(strings.Repeat("0123456789abcde\n", test.size/16+1)[:test.size])
		recorder := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if test.accept != "" {
			r.Header.Set("Accept-Encoding", test.accept)
		}
		b := newBody(recorder, r)
		for chunk := want; len(chunk) > 0; {
			n := min(len(chunk), 50_000)
			if _, err := b.Write(chunk[:n]); err != nil {
				t.Fatal(err)
			}
			chunk = chunk[n:]
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		response := recorder.Result()
		var from io.Reader = response.Body
		compressed := response.Header.Get("Content-Encoding") == "gzip"
		if compressed {
			reader, err := gzip.NewReader(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			from = reader
		}
		got, err := io.ReadAll(from)
		if err != nil || !bytes.Equal(got, want) || compressed != test.want {
			t.Errorf("Accept-Encoding %q, %d bytes: compressed %t, %d bytes, %v", test.accept, test.size, compressed, len(got), err)
		}
		if response.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Vary is %q", response.Header.Get("Vary"))
		}
	}
}

// A body that ends early must not look complete.
func TestBodyThatIsNotCompleteHasNoEnd(t *testing.T) {
	recorder := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	b := newBody(recorder, r)
	if _, err := b.Write(make([]byte, compressFrom*4)); err != nil {
		t.Fatal(err)
	}
	b.release()
	if reader, err := gzip.NewReader(recorder.Body); err == nil {
		if _, err = io.ReadAll(reader); err == nil {
			t.Error("the body has an end")
		}
	}
}
