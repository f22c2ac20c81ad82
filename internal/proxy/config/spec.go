package config

import "time"

// Protocol is the protocol of a listener or a cluster.
type Protocol string

// The protocols of listeners and clusters, and the pseudo clusters, which connect to nothing.
const (
	HTTP             Protocol = "HTTP"
	WebSocket        Protocol = "WebSocket"
	TCP              Protocol = "TCP"
	UDP              Protocol = "UDP"
	UnixDomainSocket Protocol = "UnixDomainSocket"
	JSONSocket       Protocol = "JSONSocket"
	Stdio            Protocol = "Stdio"
	Echo             Protocol = "Echo"
	Discard          Protocol = "Discard"
	Logger           Protocol = "Logger"
	JSONEncap        Protocol = "JSONEncap"
	JSONDecap        Protocol = "JSONDecap"
	Sync             Protocol = "Sync"
	Metric           Protocol = "Metric"
	Prometheus       Protocol = "Prometheus"
	Controller       Protocol = "L7mpController"
)

// ListenerSpec is the protocol and the address of a listener. Each protocol has some of the fields; others are refused.
type ListenerSpec struct {
	// Protocol is HTTP, WebSocket, TCP, UDP, UnixDomainSocket, JSONSocket, or Stdio: one session with standard input and
	// output.
	Protocol Protocol `json:"protocol"`
	// Port is the port to listen on, from 1 to 65535.
	Port int `json:"port,omitempty"`
	// Address is the IP address to listen on. Default: all addresses; with L7mpController as destination of a rule of
	// the listener itself, the loopback address.
	Address string `json:"address,omitempty"`
	// Filename is the path of the unix socket.
	Filename string `json:"filename,omitempty"`
	// Type is stream, seqpacket or datagram, for unix sockets. Default: stream.
	Type string `json:"type,omitempty"`
	// Connect restricts a UDP listener to one peer.
	Connect *ConnectSpec `json:"connect,omitempty"`
	// Options are settings of UDP listeners.
	Options *UDPOptions `json:"options,omitempty" alias:"option"`
	// Transport is the listener below JSONSocket.
	Transport *ListenerSpec `json:"transport,omitempty" alias:"transport_spec"`
	// HTTP2 is false if the listener serves HTTP/1 only. By default it also serves HTTP/2: with TLS if the client asks for
	// it (ALPN), without TLS if the client begins with it.
	HTTP2 *bool `json:"http2,omitempty"`
	// ProxyProtocol makes each connection begin with a header of the PROXY protocol, version 1 or 2: its addresses are
	// those of the metadata. Connections without it are closed. Only trusted proxies may reach the port.
	ProxyProtocol bool `json:"proxy_protocol,omitempty"`
	// Captured makes the listener take connections that packet rules redirect to the port, by their original destination.
	// It needs Linux.
	Captured *Captured `json:"captured,omitempty"`
	// Canonical makes the listener replace the path and the host of each request by their canonical forms, before rules
	// see them: dot segments are resolved, slashes merged, and percent-encoding normalized; a dot at the end of the host
	// is removed. By default, requests with dot segments in the path are refused.
	Canonical bool `json:"canonical,omitempty"`
	// Forwarded makes the listener append the address of the client to X-Forwarded-For, set X-Forwarded-Proto, and have
	// the address of the client in /HTTP/client of the metadata:
	// "append" replaces the scheme that the client sends, "trust" keeps it, for listeners behind another proxy. Default:
	// both fields are forwarded as they are.
	Forwarded string `json:"forwarded,omitempty"`
	// TrustedHops is the number of proxies before a listener with "trust" that append to X-Forwarded-For: /HTTP/client of
	// the metadata is the address that the first of them has added. Default: 0, the address of the connection.
	TrustedHops int `json:"trusted_hops,omitempty"`
	// SNI makes a TCP listener read the server name that the client of TLS asks for, into /TLS/sni of the metadata. TLS is
	// forwarded. Clients have a second to send it.
	SNI bool `json:"sni,omitempty"`
	// TLS makes the listener terminate TLS.
	TLS *ListenerTLS `json:"tls,omitempty"`
}

// ConnectSpec is the peer of a UDP listener. With both fields it is connected at once, in singleton mode.
type ConnectSpec struct {
	// Address is the IP address of the peer.
	Address string `json:"address,omitempty"`
	// Port is the port of the peer.
	Port int `json:"port,omitempty"`
}

// UDPOptions are settings of a UDP listener.
type UDPOptions struct {
	// Mode is server (a session for each peer) or singleton (one session for the peer in connect, established at once).
	// Default: singleton if connect has address and port.
	Mode string `json:"mode,omitempty"`
	// IdleTimeout ends sessions without packets for this number of milliseconds; 0 never. Default: 60000.
	IdleTimeout *int `json:"idle_timeout,omitempty"`
}

// UDPIdle is the default of IdleTimeout.
const UDPIdle = time.Minute

// ListenerTLS has the certificate of a listener. Files are read again when they change.
type ListenerTLS struct {
	// Certificate is the path of the PEM file with the certificate chain. A listener that accepts clients without TLS may
	// have none: then, it closes connections of clients with TLS.
	Certificate string `json:"certificate,omitempty"`
	// Key is the path of the PEM file with the private key.
	Key string `json:"key,omitempty"`
	// Hosts are certificates for clients that ask for some server names. Other clients get the certificate of the
	// listener. Clients whose certificate does not exist are refused.
	Hosts []HostCertificate `json:"hosts,omitempty"`
	// ClientCA is the path of the PEM file with CAs of client certificates, which are then required.
	ClientCA string `json:"client_ca,omitempty"`
	// Peers are names: the certificate of a client must have one of them, as URI (SPIFFE ID) or DNS name. A star at the
	// end stands for any rest. Default: any certificate of the CA.
	Peers []string `json:"peers,omitempty"`
	// Permissive makes the listener accept connections without TLS, too. It, and one with exceptions for such, waits up
	// to a second for the first byte of a TCP client, which may want the server to send first, and five for one of HTTP.
	// It needs Linux.
	Permissive bool `json:"permissive,omitempty"`
	// ALPN are the protocols that are offered. Default: h2 and http/1.1 for HTTP and WebSocket.
	ALPN []string `json:"alpn,omitempty"`
	// Exceptions are clients that are accepted with less than the listener requires.
	Exceptions []TLSException `json:"exceptions,omitempty"`
}

// HostCertificate is a certificate for some server names.
type HostCertificate struct {
	// Hosts are the server names, in any case. The first certificate of a name counts.
	Hosts []string `json:"hosts"`
	// Certificate is the path of the PEM file with the certificate chain.
	Certificate string `json:"certificate"`
	// Key is the path of the PEM file with the private key.
	Key string `json:"key"`
}

// TLSException are clients of a listener that need no certificate.
type TLSException struct {
	// Plain are clients without TLS. Default: clients with TLS, which are not asked for a certificate.
	Plain bool `json:"plain,omitempty"`
	// Addresses are the IP addresses of the clients, or ranges of them. Default: all.
	Addresses []string `json:"addresses,omitempty"`
	// ServerNames are names that the clients ask for; *.domain is a suffix. Default: any name, or none.
	ServerNames []string `json:"server_names,omitempty"`
}

// ClusterSpec is the protocol of a cluster. Each protocol has some of the fields; others are refused.
type ClusterSpec struct {
	// Protocol is HTTP, WebSocket, TCP, UDP, UnixDomainSocket or JSONSocket, or a pseudo cluster: Echo, Discard, Stdio,
	// Logger, JSONEncap, JSONDecap, Sync, Metric, Prometheus or L7mpController.
	Protocol Protocol `json:"protocol"`
	// Port is the port of all endpoints that have none of their own.
	Port int `json:"port,omitempty"`
	// Bind is the local address of connections.
	Bind *ConnectSpec `json:"bind,omitempty"`
	// Type is stream, seqpacket or datagram, for unix sockets. Default: stream.
	Type string `json:"type,omitempty"`
	// Transport is the cluster below JSONSocket.
	Transport *ClusterSpec `json:"transport,omitempty" alias:"transport_spec"`
	// Header says what JSONSocket sends before the data.
	Header []HeaderRule `json:"header,omitempty"`
	// LogFile is the file of a Logger; "-" is standard output. Default: "-".
	LogFile string `json:"log_file,omitempty"`
	// LogPrefix begins each line of a Logger.
	LogPrefix string `json:"log_prefix,omitempty"`
	// Query is the JSON pointer to the label of a Sync cluster: sessions with equal labels receive each other's data.
	Query string `json:"query,omitempty"`
	// TokenFile is a file with the bearer token of L7mpController. Without it, only clients on this machine are served.
	TokenFile string `json:"token_file,omitempty"`
	// HTTP2 makes requests to the endpoints use HTTP/2, as gRPC needs it: with TLS if the endpoint agrees (ALPN), without
	// TLS in any case.
	HTTP2 bool `json:"http2,omitempty"`
	// ProxyProtocol is the version of the PROXY protocol, 1 or 2, whose header begins each connection. Each HTTP request
	// has a connection of its own then. Default: 0, none.
	ProxyProtocol int `json:"proxy_protocol,omitempty"`
	// To is original or server_name for a cluster without endpoints: connections go to the original destination of the
	// captured connection, or to the server name that the client asks for, at the port of the cluster.
	To Dynamic `json:"to,omitempty"`
	// Family is 4 or 6: host names have addresses of IPv4 or IPv6 only. Default: both.
	Family int `json:"family,omitempty"`
	// SendTimeout breaks a connection whose endpoint has accepted nothing of what is sent to it for this number of
	// milliseconds. Pauses of the sender and of the response do not count. It needs Linux. Default: 0, never.
	SendTimeout int `json:"send_timeout,omitempty"`
	// TLS makes the cluster originate TLS.
	TLS *ClusterTLS `json:"tls,omitempty"`
}

// HeaderRule puts one value into the header of JSONSocket: exactly one of path and set.
type HeaderRule struct {
	// Path copies metadata of the session.
	Path *HeaderPath `json:"path,omitempty"`
	// Set is a constant.
	Set *HeaderSet `json:"set,omitempty"`
}

// HeaderPath copies metadata: a JSON pointer, or one for the source and one for the header.
type HeaderPath struct {
	// From is the JSON pointer into the metadata.
	From string `json:"from"`
	// To is the JSON pointer into the header. Default: "/".
	To string `json:"to,omitempty"`
}

// HeaderSet is a constant in the header.
type HeaderSet struct {
	// Key is the JSON pointer into the header.
	Key string `json:"key"`
	// Value is the value, of any type.
	Value any `json:"value"`
}

// ClusterTLS has the settings of TLS connections to endpoints. Files are read again when they change.
type ClusterTLS struct {
	// CA is the path of the PEM file with the CAs of endpoints. Default: those of the system.
	CA string `json:"ca,omitempty"`
	// ServerName is the name that is sent (SNI) and that the certificate must have. Default: the address.
	ServerName string `json:"server_name,omitempty"`
	// Peers are names: the certificate of an endpoint must have one of them, as URI (SPIFFE ID) or DNS name, instead of
	// the server name. A star at the end stands for any rest.
	Peers []string `json:"peers,omitempty"`
	// Insecure accepts every certificate of endpoints.
	Insecure bool `json:"insecure,omitempty"`
	// Certificate is the path of the PEM file with the client certificate.
	Certificate string `json:"certificate,omitempty"`
	// Key is the path of the PEM file with its private key.
	Key string `json:"key,omitempty"`
	// ALPN are the protocols that are offered. Default: h2 and http/1.1 with http2.
	ALPN []string `json:"alpn,omitempty"`
}

// Datagrams reports whether connections to the cluster are over UDP.
func (s *ClusterSpec) Datagrams() bool {
	for s.Transport != nil {
		s = s.Transport
	}
	return s.Protocol == UDP
}
