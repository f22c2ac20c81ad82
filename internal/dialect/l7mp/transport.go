package l7mp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"anymesh.dev/anymesh/model"
)

// transport is the protocol of a listener or a cluster, with its parameters.
type transport struct {
	protocol model.Protocol
	// port is 0 for unix sockets, whose file is socket; it may be empty for a cluster.
	port   uint16
	socket string
	peer   netip.AddrPort
	// overJSONSocket is true if JSONSocket is spoken over the protocol. Clusters send the header before the data.
	overJSONSocket bool
	header         []model.HeaderField
	// local are the parameters of a protocol that the proxy serves itself.
	local model.LocalOptions
}

// spoken returns the protocol of sessions, and the one below it if that is JSONSocket.
func (t transport) spoken() (protocol, below model.Protocol) {
	if t.overJSONSocket {
		return model.JSONSocket, t.protocol
	}
	return t.protocol, ""
}

// network is TCP, UDP or Unix: two listeners of one network cannot have the same port.
func (t transport) network() model.Protocol {
	switch t.protocol {
	case model.UDP, model.Unix:
		return t.protocol
	}
	return model.TCP
}

// socketName is what only one listener of a pod can have.
func (t transport) socketName() string {
	if t.protocol == model.Unix {
		return "the unix socket " + t.socket
	}
	return fmt.Sprintf("%s port %d", strings.ToUpper(string(t.network())), t.port)
}

// transport reads the value of a field spec. It reports false for a value without effect, with a finding.
func (p *parser) transport(raw []byte, path string) (transport, bool) {
	object, ok := p.object(raw, path)
	if !ok {
		return transport{}, false
	}
	name, is := text(object["protocol"])
	if is {
		delete(object, "protocol")
	} else {
		keys := slices.Sorted(maps.Keys(object))
		if len(keys) != 1 {
			p.report(path, model.CodeInvalidField, "must have one key, the protocol; has %d", len(keys))
			return transport{}, false
		}
		name, path = keys[0], path+"."+keys[0]
		if object, ok = p.object(object[name], path); !ok {
			return transport{}, false
		}
	}
	protocol, known := protocolOf(name)
	switch reason := notServed[strings.ToLower(name)]; {
	case reason != "":
		p.report(path, model.CodeFieldNotImplemented, "the protocol %s is not served: %s", name, reason)
		return transport{}, false
	case !known:
		p.report(path, model.CodeInvalidField, "%q is not a protocol", name)
		return transport{}, false
	}
	for _, f := range slices.Sorted(maps.Keys(object)) {
		switch {
		case slices.Contains(protocol.Ignored, f):
			p.notImplemented(path+"."+f, f)
		case !slices.Contains(protocol.Honored, f):
			p.report(path+"."+f, model.CodeInvalidField, "the protocol %s has no parameter %s", name, f)
		}
	}
	switch {
	case protocol.model == model.JSONSocket:
		return p.jsonSocket(object, path)
	case protocol.model.Local():
		return p.local(protocol.model, object, path)
	}
	return p.socket(protocol.model, object, path)
}

// address is an address and a port in JSON.
type address struct {
	Address string `json:"address"`
	Port    uint16 `json:"port"`
}

// socket reads the parameters of a protocol that has a socket.
func (p *parser) socket(protocol model.Protocol, object map[string]json.RawMessage, path string) (transport, bool) {
	out := transport{protocol: protocol}
	if raw := object["port"]; raw != nil {
		if json.Unmarshal(raw, &out.port) != nil {
			p.report(path+".port", model.CodeInvalidField, "%s is not a port from 1 to 65535", raw)
			return transport{}, false
		}
	}
	if protocol == model.Unix {
		out.socket, _ = text(object["filename"])
		return out, true
	}
	if out.port == 0 {
		p.report(path+".port", model.CodeInvalidField, "must be a port from 1 to 65535")
		return transport{}, false
	}
	if raw := object["connect"]; raw != nil {
		var peer address
		if !p.decode(raw, &peer, path+".connect") {
			return transport{}, false
		}
		ip, err := netip.ParseAddr(peer.Address)
		if err != nil || peer.Port == 0 {
			p.report(path+".connect", model.CodeFieldNotImplemented,
				"a remote end without an IP address or without a port is not implemented yet")
			return transport{}, false
		}
		out.peer = netip.AddrPortFrom(ip, peer.Port)
	}
	return out, true
}
