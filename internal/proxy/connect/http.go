package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// httpStream is a request to an endpoint as a stream: what is written is the body of the request, what is read that of
// the response.
type httpStream struct {
	net.Conn
	method []byte

	// Used by reads.
	buffer   []byte // what was read from the connection and not used
	response http1.Response
	begun    bool  // the head of the response was read
	left     int64 // of a body of a known size; -1 if it ends with the connection
	chunks   http1.Chunks
	data     []byte // of the current chunk

	ended bool // CloseWrite was called
}

// forRequest returns a connection for one request, and its path: "/" if the metadata has none. Over HTTP/2 it is a
// stream of a connection that requests share, of an extended CONNECT on demand.
func forRequest(
	ctx context.Context, spec *config.ClusterSpec, e *cluster.Endpoint, meta *metadata.Tree, extendedConnect bool,
) (nc net.Conn, path string, err error) {
	connect := func(ctx context.Context) (net.Conn, error) { return dial(ctx, spec, "tcp", e.Address, meta) }
	if spec.HTTP2 {
		nc, _, err = e.Streams.Get(ctx, extendedConnect, connect)
	} else {
		nc, err = connect(ctx)
	}
	return nc, cmp.Or(meta.Lookup(metadata.Path{"HTTP", "url", "path"}).Text, "/"), err
}

// http sends the head of a request with the method, path and fields of the metadata. Default: POST, and "/".
func (c *Connector) http(
	ctx context.Context, spec *config.ClusterSpec, e *cluster.Endpoint, meta *metadata.Tree,
) (stream.Stream, error) {
	nc, path, err := forRequest(ctx, spec, e, meta, false)
	if err != nil {
		return nil, err
	}
	method := cmp.Or(meta.Lookup(metadata.Path{"HTTP", "method"}).Text, "POST")
	host := cmp.Or(meta.Lookup(metadata.Path{"HTTP", "headers", "host"}).Text, e.Address)
	head := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nhost: %s\r\n%stransfer-encoding: chunked\r\n\r\n", method, path, host, fields(meta))
	var check http1.Request
	if size, err := check.Parse(head, 0, http1.Limits{Head: 1 << 20, Fields: 1000}); err != nil || size != len(head) {
		_ = nc.Close() // nothing was sent
		return nil, errors.Join(errors.New("the metadata below /HTTP make no valid request"), err)
	}
	return shake(ctx, nc, func() (stream.Stream, error) {
		_, err := nc.Write(head)
		return &httpStream{Conn: nc, method: []byte(method)}, err
	})
}

// Messages implements stream.Stream.
func (*httpStream) Messages() bool { return false }

// Write implements stream.Stream.
func (h *httpStream) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // a chunk without data is the end
	}
	if _, err := h.Conn.Write(fmt.Appendf(nil, "%x\r\n%s\r\n", len(p), p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// CloseWrite implements stream.Stream: it ends the body of the request.
func (h *httpStream) CloseWrite() error {
	if h.ended {
		return nil
	}
	h.ended = true
	_, err := io.WriteString(h.Conn, "0\r\n\r\n")
	return err
}

// Read implements stream.Stream. A response with another status than 2xx is an error.
func (h *httpStream) Read(p []byte) (int, error) {
	if err := h.readHead(); err != nil {
		return 0, err
	}
	for {
		switch {
		case len(h.data) > 0:
			n := copy(p, h.data)
			h.data = h.data[n:]
			return n, nil
		case h.response.Chunked && h.chunks.Done() || !h.response.Chunked && h.left == 0:
			return 0, io.EOF
		case h.response.Chunked:
			data, used, err := h.chunks.Next(h.buffer)
			if err != nil {
				return 0, err
			}
			if h.data, h.buffer = data, h.buffer[used:]; used > 0 {
				continue
			}
		case len(h.buffer) > 0:
			n := len(h.buffer)
			if h.left > 0 {
				n = int(min(int64(n), h.left))
				h.left -= int64(n)
			}
			h.data, h.buffer = h.buffer[:n], h.buffer[n:]
			continue
		}
		if err := h.fill(); err != nil {
			if errors.Is(err, io.EOF) && (h.response.Chunked || h.left > 0) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
	}
}

// fill reads more from the connection.
func (h *httpStream) fill() error {
	more := make([]byte, len(h.buffer)+16<<10)
	size := copy(more, h.buffer)
	n, err := h.Conn.Read(more[size:])
	h.buffer = more[:size+n]
	if n > 0 {
		return nil
	}
	return err
}

// readHead reads the head of the response, after interim ones.
func (h *httpStream) readHead() error {
	for seen := 0; !h.begun; {
		size, err := h.response.Parse(h.buffer, seen, http1.Limits{Head: 256 << 10, Fields: 500})
		switch {
		case err != nil:
			return err
		case size == 0:
			seen = len(h.buffer)
			if err := h.fill(); err != nil {
				return fmt.Errorf("the endpoint sends no response: %w", err)
			}
			continue
		case h.response.Status > 101 && h.response.Status < 200, h.response.Status == 100:
			h.buffer, seen = h.buffer[size:], 0
			continue
		case h.response.Status/100 != 2:
			return fmt.Errorf("the endpoint answers with the status %d", h.response.Status)
		}
		h.begun, h.left, h.buffer = true, h.response.Length, h.buffer[size:]
		if !h.response.HasBody(h.method) {
			h.left, h.response.Chunked = 0, false
		}
	}
	return nil
}
