package connect

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/http1"
)

// Check makes a health check of an endpoint.
func (c *Connector) Check(ctx context.Context, to *cluster.Cluster, e *cluster.Endpoint) error {
	h, spec := to.HealthCheck, &to.Spec
	for spec.Transport != nil {
		spec = spec.Transport
	}
	network, address := "tcp", e.Address
	if spec.Protocol == config.UnixDomainSocket {
		network = "unix"
	} else if h.Port != 0 {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		address = net.JoinHostPort(host, strconv.Itoa(h.Port))
	}
	connect := func(ctx context.Context) (net.Conn, error) { return dial(ctx, spec, network, address, nil) }
	var nc net.Conn
	var err error
	if grpc := h.Kind() == "GRPC"; h.Kind() != "TCP" && (grpc || spec.HTTP2) && h.Port == 0 {
		nc, _, err = e.Streams.Get(ctx, false, connect)
	} else {
		nc, err = connect(ctx)
	}
	if err != nil {
		return err
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() }) // interrupts the check
	defer stop()
	switch h.Kind() {
	case "HTTP":
		return checkHTTP(nc, h, e)
	case "GRPC":
		return checkGRPC(nc, h, e)
	}
	return nil
}

func checkHTTP(nc net.Conn, h *config.HealthCheck, e *cluster.Endpoint) error {
	path := h.Path
	if path == "" {
		path = "/"
	}
	_, err := fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: anymesh-proxy\r\nConnection: close\r\n\r\n", path,
		cmp.Or(h.Host, e.Address))
	if err != nil {
		return err
	}
	r, _, err := readHead(nc)
	if err == nil && !h.Passes(r.Status) {
		err = fmt.Errorf("status %d", r.Status)
	}
	return err
}

// readHead reads the head of a response, and returns what was read after it.
func readHead(nc net.Conn) (*http1.Response, []byte, error) {
	r := new(http1.Response)
	buffer := make([]byte, 0, 4096)
	for {
		if len(buffer) == cap(buffer) {
			return nil, nil, errors.New("the head of the response is too long")
		}
		n, err := nc.Read(buffer[len(buffer):cap(buffer)])
		if err != nil {
			return nil, nil, err
		}
		buffer = buffer[:len(buffer)+n]
		size, err := r.Parse(buffer, 0, http1.DefaultLimits)
		if err != nil || size > 0 {
			return r, buffer[size:], err
		}
	}
}

// checkGRPC calls the method Check of the service grpc.health.v1.Health.
func checkGRPC(nc net.Conn, h *config.HealthCheck, e *cluster.Endpoint) error {
	var message []byte
	if h.Service != "" { // field 1, a text
		message = binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(h.Service)))
		message = append(message, h.Service...)
	}
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	_, err := fmt.Fprintf(nc, "POST /grpc.health.v1.Health/Check HTTP/1.1\r\nHost: %s\r\nContent-Type: application/grpc\r\n"+
		"User-Agent: anymesh-proxy\r\nContent-Length: %d\r\n\r\n%s", cmp.Or(h.Host, e.Address), len(body), body)
	if err != nil {
		return err
	}
	r, rest, err := readHead(nc)
	if err != nil {
		return err
	}
	var chunks http1.Chunks
	var answer []byte
	for r.Status == 200 && r.Chunked && len(answer) < 100 {
		data, used, err := chunks.Next(rest)
		if err != nil {
			return err
		}
		answer, rest = append(answer, data...), rest[used:]
		if chunks.Done() {
			break
		}
		if used > 0 {
			continue
		}
		more := make([]byte, 512)
		n, err := nc.Read(more)
		rest = append(rest, more[:n]...)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	const serving = "\x00\x00\x00\x00\x02\x08\x01" // a message with 1 in field 1
	if string(answer) != serving {
		return fmt.Errorf("the endpoint is not serving, status %d", r.Status)
	}
	return nil
}
