package explain

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/model"
)

// defaultPorts are the ports of URLs without a port.
var defaultPorts = map[string]uint16{"http": 80, "http2": 80, "grpc": 80, "ws": 80, "https": 443}

// Request is a request of a client.
type Request struct {
	model.Request
	// Name is the host name that the client resolves; empty for an address.
	Name string
	// encrypted is the request of an https URL inside TLS, for listeners that end TLS.
	encrypted *model.Request
	// defaultPort is true if the URL has no port.
	defaultPort bool
}

// SetClient sets the address of the client.
func (r *Request) SetClient(address netip.Addr) {
	r.Client = address
	if r.encrypted != nil {
		r.encrypted.Client = address
	}
}

// ParseRequest parses a request. An empty method is POST for gRPC and GET otherwise. Headers have the form "name:
// value". Schemes are http, http2, grpc, ws, tcp, udp, unix, and https; the mesh handles https as a TCP connection with
// SNI, unless the workload receives it (inbound): its listener can end TLS. For JSONSocket, the scheme is that of the
// protocol below, for example jsonsocket+udp. The path of a unix URL is the file of the socket.
func ParseRequest(method, address string, headers []string, inbound bool) (Request, error) {
	u, err := url.Parse(address)
	if err == nil {
		u.Scheme = strings.TrimPrefix(u.Scheme, "jsonsocket+")
	}
	if err == nil && u.Scheme == "unix" {
		return parseUnix(method, u, headers)
	}
	if err != nil || u.Host == "" {
		return Request{}, fmt.Errorf("%q is not a URL such as http://service:8080/path or tcp://service:9000", address)
	}
	if !slices.Contains([]string{"http", "http2", "grpc", "ws", "https", "tcp", "udp"}, u.Scheme) {
		return Request{}, fmt.Errorf("%q: the scheme must be http, http2, grpc, ws, https, tcp, udp or unix", address)
	}
	r := Request{Request: model.Request{Protocol: model.Protocol(u.Scheme), Port: defaultPorts[u.Scheme]}}
	if u.Scheme == "ws" {
		r.Protocol = model.WebSocket
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return r, fmt.Errorf("%q: the port must be between 1 and 65535", address)
		}
		r.Port = uint16(n)
	} else {
		r.defaultPort = true
	}
	if r.Port == 0 {
		return r, fmt.Errorf("%q: a %s URL needs a port", address, u.Scheme)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		r.Address = ip
	} else {
		r.Name = u.Hostname()
	}
	if u.Scheme == "tcp" || u.Scheme == "udp" || u.Scheme == "https" {
		encrypted := inbound && u.Scheme == "https"
		if (method != "" || len(headers) > 0) && !encrypted {
			return r, fmt.Errorf("%q: the mesh handles this scheme as a stream; method and headers are not allowed", address)
		}
		r.Protocol, r.Host = model.TCP, u.Hostname() // Host is for display only: the mesh matches addresses
		switch u.Scheme {
		case "udp":
			r.Protocol = model.UDP
		case "https":
			r.ServerName = u.Hostname()
		}
		if !encrypted {
			return r, nil
		}
		inside := r.Request
		inside.Protocol, inside.TLS = model.HTTP, &model.Handshake{}
		r.encrypted = &inside
		return r, readRequest(r.encrypted, u, method, address, headers)
	}
	return r, readRequest(&r.Request, u, method, address, headers)
}

// parseUnix parses the URL of a unix socket.
func parseUnix(method string, u *url.URL, headers []string) (Request, error) {
	switch {
	case u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.Path == "/":
		return Request{}, fmt.Errorf("%q: a unix URL has a file only, such as unix:///run/app.sock", u)
	case method != "" || len(headers) > 0:
		return Request{}, fmt.Errorf("%q: the mesh handles this scheme as a stream; method and headers are not allowed", u)
	}
	return Request{Request: model.Request{Protocol: model.Unix, Socket: u.Path}}, nil
}

// readRequest reads method, host, path and headers of a request.
func readRequest(r *model.Request, u *url.URL, method, address string, headers []string) error {
	r.Scheme, r.Host, r.Method = "http", u.Host, method
	if u.Scheme == "https" {
		r.Scheme = "https"
	}
	if r.Method == "" {
		r.Method = map[string]string{"grpc": "POST"}[u.Scheme]
	}
	if r.Method == "" {
		r.Method = "GET"
	}
	// The raw request target: the mesh normalizes it.
	_, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "#")
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		r.Path = rest[at:]
	}
	if !strings.HasPrefix(r.Path, "/") {
		r.Path = "/" + r.Path
	}
	return addHeaders(r, headers)
}

func addHeaders(r *model.Request, headers []string) error {
	for _, line := range headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return fmt.Errorf("header %q: expected 'name: value'", line)
		}
		if strings.EqualFold(name, "Host") {
			r.Host = value
			continue
		}
		r.Headers = append(r.Headers, model.Header{Name: name, Value: value})
	}
	return nil
}
