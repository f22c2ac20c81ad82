package osm

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
)

// protocols are the protocols by the values of appProtocol and the prefixes of port names. Between sidecars,
// connections always use TLS, so that a protocol in which the server sends first is as any other.
var protocols = map[string]model.Protocol{
	"http": model.HTTP, "grpc": model.GRPC, "tcp": model.TCP, "tcp-server-first": model.TCP, "https": model.TCP,
	"http2": model.HTTP2, "h2c": model.HTTP2, "kubernetes.io/h2c": model.HTTP2, "kubernetes.io/ws": model.HTTP,
	"kubernetes.io/wss": model.TCP,
}

// prefixes are the prefixes of port names that count, the longest first.
var prefixes = []string{"tcp-server-first", "http", "grpc", "tcp"}

// protocolOf returns the protocol of a port of a Service by appProtocol, else by the prefix of its name, else HTTP. The
// doubt is a warning about the port, or "", at the field of the port. It reports false for ports that are not of TCP.
func protocolOf(p corev1.ServicePort) (protocol model.Protocol, field, doubt string, ok bool) {
	if p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
		return "", "", "", false
	}
	if p.AppProtocol != nil && *p.AppProtocol != "" {
		if known, is := protocols[strings.ToLower(*p.AppProtocol)]; is {
			return known, "", "", true
		}
		return model.TCP, "appProtocol", "the protocol " + *p.AppProtocol + " is not known; the port is served as tcp", true
	}
	name := strings.ToLower(p.Name)
	for _, prefix := range prefixes {
		if strings.HasPrefix(name, prefix+"-") {
			return protocols[prefix], "", "", true
		}
	}
	if name != "http" && slices.Contains(prefixes, name) {
		return model.HTTP, "name", "the name has no dash after the protocol, so that the port is served as http; " +
			"set appProtocol to " + name, true
	}
	return model.HTTP, "", "", true
}
