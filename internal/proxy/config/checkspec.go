package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// decode implements decoder: next to {protocol: UDP, port: 1} there is the form {UDP: {port: 1}}.
func (s *ListenerSpec) decode(path string, in any) error {
	type plain ListenerSpec
	in, err := flat(path, in)
	if err != nil {
		return err
	}
	if err := decodeObject(path, in, (*plain)(s)); err != nil {
		return err
	}
	return named2(path, s.check())
}

// decode implements decoder, as that of ListenerSpec.
func (s *ClusterSpec) decode(path string, in any) error {
	type plain ClusterSpec
	in, err := flat(path, in)
	if err != nil {
		return err
	}
	if err := decodeObject(path, in, (*plain)(s)); err != nil {
		return err
	}
	return named2(path, s.check())
}

// flat returns {protocol: P, ...} for {P: {...}}.
func flat(path string, in any) (any, error) {
	object, is := in.(map[string]any)
	if !is || len(object) != 1 {
		return in, nil
	}
	for key, inner := range object {
		protocol := Protocol(key)
		if _, listens := listenerFields[protocol]; !listens && clusterFields[protocol] == nil {
			return in, nil
		}
		fields, is := inner.(map[string]any)
		if !is && inner != nil {
			return nil, fmt.Errorf("%s.%s: must be an object, is %s", path, key, typeOf(inner))
		}
		if _, has := fields["protocol"]; has {
			return nil, fmt.Errorf("%s.%s.protocol: is given by the name of the object", path, key)
		}
		out := map[string]any{"protocol": key}
		for name, value := range fields {
			out[name] = value
		}
		return out, nil
	}
	return in, nil
}

func named2(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%w", path, err)
}

func (s *ListenerSpec) check() error {
	if err := onlyFields(s, s.Protocol, listenerFields); err != nil {
		return err
	}
	fields := listenerFields[s.Protocol]
	if slices.Contains(fields, "port") {
		if err := checkPort(s.Port, false); err != nil {
			return named("port", err)
		}
	}
	switch {
	case slices.Contains(fields, "filename") && s.Filename == "":
		return errors.New("filename: is required")
	case slices.Contains(fields, "transport") && s.Transport == nil:
		return errors.New("transport: is required")
	case s.Transport != nil && !s.Transport.Protocol.carriesJSONSocket():
		return fmt.Errorf("transport.protocol: must not be %s", s.Transport.Protocol)
	case s.Captured != nil && (s.Address != "" || s.ProxyProtocol):
		return errors.New("captured: address and proxy_protocol have no effect with it")
	case s.TLS != nil && len(s.TLS.Exceptions) > 0 && s.ProxyProtocol:
		return errors.New("tls.exceptions: they do not see the addresses of proxy_protocol")
	case s.SNI && s.TLS != nil:
		return errors.New("sni: the listener terminates TLS")
	}
	if !slices.Contains([]string{"", "append", "trust"}, s.Forwarded) {
		return fmt.Errorf("forwarded: %q is none of append and trust", s.Forwarded)
	}
	if s.TrustedHops < 0 || s.TrustedHops > 0 && s.Forwarded != "trust" {
		return errors.New("trusted_hops: must not be negative, and needs forwarded: trust")
	}
	if err := checkType(s.Type); err != nil {
		return err
	}
	return named("address", checkAddress(s.Address))
}

func (s *ClusterSpec) check() error {
	if err := onlyFields(s, s.Protocol, clusterFields); err != nil {
		return err
	}
	switch fields := clusterFields[s.Protocol]; {
	case slices.Contains(fields, "transport") && s.Transport == nil:
		return errors.New("transport: is required")
	case s.Transport != nil && !s.Transport.Protocol.carriesJSONSocket():
		return fmt.Errorf("transport.protocol: must not be %s", s.Transport.Protocol)
	case s.Protocol == Sync && s.Query == "":
		return errors.New("query: is required")
	}
	if s.ProxyProtocol < 0 || s.ProxyProtocol > 2 {
		return fmt.Errorf("proxy_protocol: must be 1 or 2, is %d", s.ProxyProtocol)
	}
	if s.SendTimeout < 0 || s.SendTimeout > 1e9 {
		return errors.New("send_timeout: must be from 0 to 1000000000 milliseconds")
	}
	if s.ProxyProtocol > 0 && s.HTTP2 {
		return errors.New("proxy_protocol: sessions share the connections of HTTP/2")
	}
	if err := errors.Join(checkType(s.Type), s.checkDynamic()); err != nil {
		return err
	}
	return named("port", checkPort(s.Port, true))
}

// carriesJSONSocket reports whether a protocol can be below JSONSocket.
func (p Protocol) carriesJSONSocket() bool {
	return slices.Contains([]Protocol{TCP, UDP, WebSocket, UnixDomainSocket}, p)
}

func checkType(t string) error {
	if !slices.Contains([]string{"", "stream", "seqpacket", "datagram"}, t) {
		return fmt.Errorf("type: %q is none of stream, seqpacket and datagram", t)
	}
	return nil
}

func (c *ConnectSpec) check(map[string]bool) error {
	if err := checkAddress(c.Address); err != nil {
		return named("address", err)
	}
	if c.Address == "" && c.Port == 0 {
		return errors.New("address: address or port is required")
	}
	return named("port", checkPort(c.Port, true))
}

// Addr returns the address and port; both may be unset.
func (c *ConnectSpec) Addr() netip.AddrPort {
	if c == nil {
		return netip.AddrPort{}
	}
	address, err := netip.ParseAddr(c.Address)
	if err != nil {
		address = netip.Addr{} // not set, as decoding refuses others
	}
	return netip.AddrPortFrom(address, uint16(c.Port))
}

func (o *UDPOptions) check(map[string]bool) error {
	if !slices.Contains([]string{"", "server", "singleton"}, o.Mode) {
		return fmt.Errorf("mode: %q is none of server and singleton", o.Mode)
	}
	if o.IdleTimeout != nil && (*o.IdleTimeout < 0 || *o.IdleTimeout > 1e9) {
		return errors.New("idle_timeout: must be from 0 to 1000000000 milliseconds")
	}
	return nil
}

func (h *HeaderRule) check(map[string]bool) error {
	if (h.Path == nil) == (h.Set == nil) {
		return errors.New("path: exactly one of path and set is required")
	}
	return nil
}

func (t *ListenerTLS) check(map[string]bool) error {
	without := t.Certificate == "" && t.Key == ""
	none := without && len(t.Hosts) == 0
	switch {
	case none && !t.Permissive && !t.acceptsPlain(), !without && (t.Certificate == "" || t.Key == ""):
		return errors.New("certificate: certificate and key are required")
	case none && t.ClientCA != "":
		return errors.New("client_ca: it has no effect without a certificate")
	}
	if len(t.Peers) > 0 && t.ClientCA == "" {
		return errors.New("peers: client_ca is required")
	}
	return nil
}

// acceptsPlain reports whether the listener has exceptions for clients without TLS.
func (t *ListenerTLS) acceptsPlain() bool {
	return slices.ContainsFunc(t.Exceptions, func(e TLSException) bool { return e.Plain })
}

func (h *HostCertificate) check(map[string]bool) error {
	if len(h.Hosts) == 0 || h.Certificate == "" || h.Key == "" {
		return errors.New("hosts: hosts, certificate and key are required")
	}
	return nil
}

func (e *TLSException) check(map[string]bool) error {
	if e.Plain && len(e.ServerNames) > 0 {
		return errors.New("server_names: clients without TLS ask for none")
	}
	return checkRanges(e.Addresses)
}

func (t *ClusterTLS) check(map[string]bool) error {
	if t.Insecure && (t.CA != "" || len(t.Peers) > 0) {
		return errors.New("insecure: ca and peers have no effect with it")
	}
	if (t.Certificate == "") != (t.Key == "") {
		return errors.New("certificate: certificate and key are both required, or none")
	}
	return nil
}
