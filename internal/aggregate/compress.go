package aggregate

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// compressFrom is the size of the bodies that are compressed, and compressLevel their level, as in kube-apiserver.
const (
	compressFrom  = 128 << 10
	compressLevel = 1
)

var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, compressLevel)
	if err != nil {
		panic(err) // The level is valid.
	}
	return w
}}

// body writes the body of an answer, compressed if the client accepts gzip and the body is large. Close must be called
// at the end of a body that is complete.
type body struct {
	to       http.ResponseWriter
	accepted bool
	// held is the start of the body until its size is known to be large.
	held       bytes.Buffer
	compressor *gzip.Writer
}

func newBody(to http.ResponseWriter, r *http.Request) *body {
	to.Header().Add("Vary", "Accept-Encoding")
	return &body{to: to, accepted: acceptsGzip(r.Header.Values("Accept-Encoding"))}
}

// acceptsGzip reports whether Accept-Encoding has gzip, with a weight other than 0.
func acceptsGzip(values []string) bool {
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		text, ok := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		if !ok {
			return true
		}
		weight, err := strconv.ParseFloat(text, 64)
		return err == nil && weight > 0
	}
	return false
}

func (b *body) Write(p []byte) (int, error) {
	switch {
	case !b.accepted:
		return b.to.Write(p)
	case b.compressor != nil:
		return b.compressor.Write(p)
	case b.held.Len()+len(p) <= compressFrom:
		return b.held.Write(p)
	}
	b.to.Header().Set("Content-Encoding", "gzip")
	b.compressor = compressors.Get().(*gzip.Writer)
	b.compressor.Reset(b.to)
	if _, err := b.compressor.Write(b.held.Bytes()); err != nil {
		return 0, err
	}
	b.held = bytes.Buffer{}
	return b.compressor.Write(p)
}

// Close writes what is left.
func (b *body) Close() error {
	if b.compressor == nil {
		_, err := b.to.Write(b.held.Bytes())
		return err
	}
	err := b.compressor.Close()
	b.release()
	return err
}

// release gives the compressor back, also after a body that is not complete.
func (b *body) release() {
	if b.compressor != nil {
		b.compressor.Reset(nil)
		compressors.Put(b.compressor)
		b.compressor = nil
		b.accepted = false
	}
}
