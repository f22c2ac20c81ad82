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

// defaultPorts are those of URLs that name none.
var defaultPorts = map[string]uint16{"http": 80, "http2": 80, "grpc": 80, "https": 443}

// ParseRequest makes the request that an application makes with a method (empty for the usual one), a URL and header lines
// ("name: value"). Schemes are http, http2, grpc, and tcp for plain streams; https is a stream to the mesh, with a server name.
func ParseRequest(method, address string, headers []string) (model.Request, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return model.Request{}, fmt.Errorf("%q is no URL; write it like http://service:8080/path or tcp://service:9000", address)
	}
	r := model.Request{Protocol: model.Protocol(u.Scheme), Port: defaultPorts[u.Scheme]}
	if !slices.Contains([]string{"http", "http2", "grpc", "https", "tcp"}, u.Scheme) {
		return r, fmt.Errorf("%q: the scheme is none of http, http2, grpc, https, tcp", address)
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return r, fmt.Errorf("%q: the port is not between 1 and 65535", address)
		}
		r.Port = uint16(n)
	}
	if r.Port == 0 {
		return r, fmt.Errorf("%q: a stream needs a port", address)
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		r.Address = ip
	}
	if u.Scheme == "tcp" || u.Scheme == "https" {
		if method != "" || len(headers) > 0 {
			return r, fmt.Errorf("%q: to the mesh this is a stream; it has neither method nor headers", address)
		}
		r.Protocol, r.Host = model.TCP, u.Hostname() // the name is for people: the mesh sees an address
		if u.Scheme == "https" {
			r.ServerName = u.Hostname()
		}
		return r, nil
	}
	r.Scheme, r.Host, r.Method = "http", u.Host, method
	if r.Method == "" {
		r.Method = map[string]string{"grpc": "POST"}[u.Scheme]
	}
	if r.Method == "" {
		r.Method = "GET"
	}
	// The target as it stands in the URL: its spelling is for the mesh to judge.
	_, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "#")
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		r.Path = rest[at:]
	}
	if !strings.HasPrefix(r.Path, "/") {
		r.Path = "/" + r.Path
	}
	return r, addHeaders(&r, headers)
}

func addHeaders(r *model.Request, headers []string) error {
	for _, line := range headers {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" {
			return fmt.Errorf("header %q: write it like 'name: value'", line)
		}
		if strings.EqualFold(name, "Host") {
			r.Host = value
			continue
		}
		r.Headers = append(r.Headers, model.Header{Name: name, Value: value})
	}
	return nil
}
