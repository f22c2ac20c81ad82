package observe

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/model"
)

// Line is a request of a case with its expected result.
type Line struct {
	// Number is the line number in requests.txt, from 1.
	Number int
	// Into is true for inbound requests and false for outbound requests of the application.
	Into     bool
	Workload string
	// Unreachable are the destinations to which connections fail, because the TLS of both sides does not match.
	Unreachable []string
	// Resolved is the external address of the TLS server name in DNS. The client connects to another one, that of Request.
	// The name does not resolve if Resolved is invalid.
	Resolved netip.Addr
	// Certificate is the file of the client's certificate, for an inbound request with TLS; it may be empty.
	Certificate string
	// HealthCheck is true for the health check that a gateway makes of its listener on the port of Request.
	HealthCheck bool
	// Host is the host that the client connects to.
	Host string
	// Request is the request. Its address is the external address of the host.
	Request model.Request
	// Responses are the responses of the destination to each try.
	Responses []Response
	// Except is the name of an Envoy binary that is known to behave differently; empty for none.
	Except string
	// Derived is true for a request that no file has: see derivedLines.
	Derived bool
	// Once is true for a request that is sent once, whatever the weights of its destinations are.
	Once bool
	// Library is true for a call of an application whose gRPC library is its proxy.
	Library bool
	// Want is the expectation after "=>".
	Want Expectation
}

// hostNetwork contains the external addresses of all hosts (test network of RFC 2544).
var hostNetwork = netip.MustParsePrefix("198.18.0.0/15")

// unresolvedPrefix begins TLS server names that do not resolve.
const unresolvedPrefix = "unresolved."

// resolvedAddress is the external address that DNS has for a TLS server name, in the upper half of hostNetwork.
func resolvedAddress(dialed netip.Addr) netip.Addr {
	b := dialed.As4()
	b[1]++
	return netip.AddrFrom4(b)
}

// exceptPrefix begins the comment of a line that does not apply to a version of Envoy.
const exceptPrefix = "not "

func parseLines(text string) ([]Line, error) {
	var out []Line
	hosts := map[string]netip.Addr{}
	next := hostNetwork.Addr()
	number := 0
	for text := range strings.Lines(text) {
		number++
		text, comment, _ := strings.Cut(strings.TrimSpace(text), " # ")
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		l, host, err := parseLine(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		l.Number = number
		if version, ok := strings.CutPrefix(comment, exceptPrefix); ok {
			l.Except, _, _ = strings.Cut(version, ":")
		}
		if address, err := netip.ParseAddr(host); err == nil {
			hosts[host] = address
		} else if !hosts[host].IsValid() {
			next = next.Next()
			hosts[host] = next
		}
		l.Host, l.Request.Address = host, hosts[host]
		if l.Request.ServerName != "" && !strings.HasPrefix(host, unresolvedPrefix) {
			l.Resolved = resolvedAddress(l.Request.Address)
		}
		out = append(out, l)
	}
	return out, nil
}

func parseLine(text string) (Line, string, error) {
	request, want, ok := strings.Cut(text, " => ")
	direction, rest, ok2 := strings.Cut(request, ": ")
	words := strings.Fields(direction)
	if ok && ok2 && len(words) == 2 && words[0] == "check" {
		l := Line{Workload: words[1]}
		err := l.parseHealthCheck(rest, want)
		return l, "", err
	}
	if !ok || !ok2 || len(words) < 2 || words[0] != "from" && words[0] != "into" {
		return Line{}, "", fmt.Errorf("want \"from|into <workload>: <request> => <decision>\", have %q", text)
	}
	l := Line{Into: words[0] == "into", Workload: words[1]}
	words, err := l.parseState(words[2:])
	if err != nil {
		return Line{}, "", err
	}
	if err := l.parseHandshake(words); err != nil {
		return Line{}, "", err
	}
	if rest, answers, scripted := strings.Cut(rest, " ("); scripted {
		request = rest
		if l.Responses, err = parseResponses(strings.TrimSuffix(answers, ")")); err != nil {
			return Line{}, "", err
		}
	} else {
		request = rest
	}
	host, err := l.parseRequest(strings.Fields(request))
	if err != nil {
		return Line{}, "", err
	}
	l.Want, err = parseExpectation(want)
	return l, host, err
}

// parseState parses "unhealthy" with a destination, and "open" with a number, and returns the other words.
func (l *Line) parseState(words []string) ([]string, error) {
	state := &l.Request.State
	if len(words) > 0 && words[0] == "exhausted" {
		state.Exhausted, words = true, words[1:]
	}
	for len(words) > 1 && (words[0] == "unhealthy" || words[0] == "open") {
		if words[0] == "unhealthy" {
			state.Unhealthy = append(state.Unhealthy, words[1])
		} else {
			n, err := strconv.ParseUint(words[1], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("open %q is not a number of requests", words[1])
			}
			state.Open = uint32(n)
		}
		words = words[2:]
	}
	return words, nil
}

// parseHandshake parses "tls", or "tls" and the file of a certificate.
func (l *Line) parseHandshake(words []string) error {
	switch {
	case len(words) == 0:
		return nil
	case !l.Into || words[0] != "tls" || len(words) > 2:
		return fmt.Errorf("want \"into <workload> [unhealthy <destination>] [open <number>] tls [<certificate>]\", have %q", strings.Join(words, " "))
	}
	l.Request.TLS = &model.Handshake{}
	if len(words) == 2 {
		l.Certificate = words[1]
		*l.Request.TLS = contentOf(l.Certificate)
	}
	return nil
}

// parseRequest parses protocol, method, URL and headers, and returns the host to dial.
func (l *Line) parseRequest(words []string) (host string, err error) {
	r := &l.Request
	r.Protocol = model.HTTP
	switch words[0] {
	case "http2", "grpc", "tcp", "tls":
		r.Protocol = model.Protocol(words[0])
		words = words[1:]
	}
	if r.Protocol == model.HTTP || r.Protocol == model.HTTP2 {
		r.Method, words = words[0], words[1:]
	}
	if len(words) == 0 {
		return "", fmt.Errorf("no URL")
	}
	authority := words[0]
	if scheme, rest, ok := strings.Cut(words[0], "://"); ok {
		r.Scheme = scheme
		authority, r.Path, _ = strings.Cut(rest, "/")
		r.Path = "/" + r.Path
		r.Host = authority
	}
	host, port, ok := strings.Cut(authority, ":")
	if !ok {
		port = "80"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", fmt.Errorf("%q has no port", authority)
	}
	r.Port = uint16(n)
	switch r.Protocol {
	case "tls":
		r.Protocol, r.ServerName = model.TCP, host
	case model.GRPC:
		r.Method = "POST"
	}
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word, ":")
		if !ok {
			return "", fmt.Errorf("%q is not a header", word)
		}
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Headers = append(r.Headers, model.Header{Name: name, Value: value})
	}
	return host, nil
}
