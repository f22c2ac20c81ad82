package xds

import (
	"strings"
	"unicode/utf8"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Field numbers of requests. A first request is large: Envoy's node lists all of its hundreds of extensions, which are of no use here,
// and a sidecar names a thousand clusters. Decoded field by field they would be thousands of small objects for each client, which
// fragment the heap for good. So the extensions are left out, and names are one string that is cut.
const (
	deltaNode        = 1
	deltaSubscribe   = 3
	deltaUnsubscribe = 4
	worldNode        = 2
	worldList        = 3
	deltaType        = 2
	deltaNonce       = 6
	worldVersion     = 1
	worldType        = 4
	worldNonce       = 5
	nodeExtensions   = 9
)

// incoming is a request that is read.
type incoming struct {
	request
	world bool // in which variant
}

func (r *incoming) read(b []byte) error {
	if short, ok := acknowledgement(b, r.world); ok {
		r.request = short
		return nil
	}
	if r.world {
		var m discoveryv3.DiscoveryRequest
		err := decode(b, &m)
		r.request = worldRequest(&m)
		return err
	}
	var m discoveryv3.DeltaDiscoveryRequest
	err := decode(b, &m)
	r.request = deltaRequest(&m)
	return err
}

// acknowledgement reads what most requests are: a type, a nonce and nothing else but a version, which means nothing.
func acknowledgement(b []byte, world bool) (r request, ok bool) {
	typeField, nonceField, versionField := protowire.Number(deltaType), protowire.Number(deltaNonce), protowire.Number(0)
	if world {
		typeField, nonceField, versionField = worldType, worldNonce, worldVersion
	}
	for len(b) > 0 {
		number, kind, size := field(b)
		if size < 0 || kind != protowire.BytesType {
			return request{}, false
		}
		text := value(b)
		b = b[size:]
		if !utf8.Valid(text) {
			return request{}, false
		}
		switch number {
		case typeField:
			r.typeURL = common(text)
		case nonceField:
			r.nonce = string(text)
		case versionField:
		default:
			return request{}, false
		}
	}
	return r, true
}

// common has one copy of the types that all sidecars ask for.
func common(typeURL []byte) string {
	switch string(typeURL) {
	case ClusterType:
		return ClusterType
	case EndpointType:
		return EndpointType
	case ListenerType:
		return ListenerType
	case RouteType:
		return RouteType
	case SecretType:
		return SecretType
	}
	return string(typeURL)
}

// decode reads a request of either variant, without the extensions of its node.
func decode(b []byte, v any) error {
	var err error
	switch r := v.(type) {
	case *discoveryv3.DeltaDiscoveryRequest:
		rest, lists := part(b, deltaNode, deltaSubscribe, deltaUnsubscribe)
		err = proto.Unmarshal(rest, r)
		r.ResourceNamesSubscribe, r.ResourceNamesUnsubscribe = lists[0], lists[1]
	case *discoveryv3.DiscoveryRequest:
		rest, lists := part(b, worldNode, worldList, 0)
		err = proto.Unmarshal(rest, r)
		r.ResourceNames = lists[0]
	}
	return err
}

// part takes lists of names out of a message, and the extensions out of its node. What does not parse stays in the rest, for the
// decoder to refuse.
func part(b []byte, node protowire.Number, names ...protowire.Number) (rest []byte, lists [2][]string) {
	var found [2][][]byte
	for len(b) > 0 {
		number, kind, size := field(b)
		if size < 0 {
			rest = append(rest, b...)
			break
		}
		list := -1
		for i, n := range names {
			if number == n && kind == protowire.BytesType {
				list = i
			}
		}
		switch {
		case list >= 0:
			found[list] = append(found[list], value(b))
		case number == node && kind == protowire.BytesType:
			rest = protowire.AppendTag(rest, number, kind)
			rest = protowire.AppendBytes(rest, without(value(b), nodeExtensions))
		default:
			rest = append(rest, b[:size]...)
		}
		b = b[size:]
	}
	for i := range found {
		lists[i] = cut(found[i])
	}
	return rest, lists
}

// field is the first one of a message; the size is negative if it does not parse.
func field(b []byte) (protowire.Number, protowire.Type, int) {
	number, kind, head := protowire.ConsumeTag(b)
	if head < 0 {
		return 0, 0, head
	}
	body := protowire.ConsumeFieldValue(number, kind, b[head:])
	if body < 0 {
		return 0, 0, body
	}
	return number, kind, head + body
}

// value is that of the first field, which is of bytes.
func value(b []byte) []byte {
	_, _, head := protowire.ConsumeTag(b)
	v, _ := protowire.ConsumeBytes(b[head:])
	return v
}

// without leaves out a field of messages. What has its number and another form stays, for the decoder.
func without(b []byte, drop protowire.Number) []byte {
	var rest []byte
	for len(b) > 0 {
		number, kind, size := field(b)
		if size < 0 {
			return append(rest, b...)
		}
		if number != drop || kind != protowire.BytesType {
			rest = append(rest, b[:size]...)
		}
		b = b[size:]
	}
	return rest
}

// cut makes strings of values, all out of one.
func cut(values [][]byte) []string {
	if len(values) == 0 {
		return nil
	}
	size := 0
	for _, v := range values {
		size += len(v)
	}
	var all strings.Builder
	all.Grow(size)
	for _, v := range values {
		_, _ = all.Write(v)
	}
	text, names := all.String(), make([]string, len(values))
	for i, v := range values {
		names[i], text = text[:len(v)], text[len(v):]
	}
	return names
}
