package websocket

import (
	"bytes"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/http1"
)

// magic is appended to the key: RFC 6455, 4.2.2.
const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

func accept(key string) string {
	sum := sha1.Sum([]byte(key + magic))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Request is the handshake of a client.
type Request struct {
	Key string
	// Protocol is the first of the offered subprotocols; empty if there are none.
	Protocol string
}

// Check returns the handshake in the head of a request.
func Check(r *http1.Request) (Request, *http1.Error) {
	version, _ := r.Get("sec-websocket-version")
	key, _ := r.Get("sec-websocket-key")
	raw, err := base64.StdEncoding.DecodeString(string(key))
	switch {
	case string(r.Method) != "GET" || !strings.EqualFold(string(r.Upgrade), "websocket") || r.Length > 0 || r.Chunked:
		return Request{}, &http1.Error{Status: 426, Text: "the listener serves only WebSocket"}
	case string(version) != "13":
		return Request{}, &http1.Error{Status: 426, Text: "the version of WebSocket must be 13"}
	case err != nil || len(raw) != 16:
		return Request{}, &http1.Error{Status: 400, Text: "Sec-WebSocket-Key is invalid"}
	}
	protocols, _ := r.Get("sec-websocket-protocol")
	first, _, _ := bytes.Cut(protocols, []byte{','})
	return Request{string(key), strings.TrimSpace(string(first))}, nil
}

// Accept answers the handshake. Rest is what was read after the head.
func Accept(nc net.Conn, r Request, rest []byte) (*Stream, error) {
	head := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		accept(r.Key) + "\r\n"
	if r.Protocol != "" {
		head += "Sec-WebSocket-Protocol: " + r.Protocol + "\r\n"
	}
	if _, err := nc.Write([]byte(head + "\r\n")); err != nil {
		return nil, err
	}
	return newStream(nc, rest, false), nil
}

// Dial sends a handshake. The fields are lines of more fields, which end with CR LF.
func Dial(nc net.Conn, host, path, fields string) (*Stream, error) {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	head := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: %s\r\n%s\r\n", path, host, key, fields)
	var check http1.Request
	limits := http1.Limits{Head: 1 << 20, Fields: 1000}
	if size, err := check.Parse([]byte(head), 0, limits); err != nil || size != len(head) {
		return nil, errors.Join(errors.New("the metadata has no valid request"), err)
	}
	if _, err := nc.Write([]byte(head)); err != nil {
		return nil, err
	}
	var response http1.Response
	buffer := make([]byte, 0, 4096)
	for {
		n, err := nc.Read(buffer[len(buffer):cap(buffer)])
		if err != nil {
			return nil, err
		}
		buffer = buffer[:len(buffer)+n]
		size, err := response.Parse(buffer, 0, http1.DefaultLimits)
		if err != nil {
			return nil, err
		}
		if size == 0 {
			buffer = append(make([]byte, 0, 2*cap(buffer)), buffer...)
			continue
		}
		got, _ := response.Get("sec-websocket-accept")
		if response.Status != 101 || string(got) != accept(key) || !strings.EqualFold(string(response.Upgrade), "websocket") {
			return nil, fmt.Errorf("the endpoint answers the WebSocket handshake with status %d", response.Status)
		}
		return newStream(nc, buffer[size:], true), nil
	}
}
