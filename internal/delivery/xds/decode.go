package xds

import (
	"strings"
	"unicode/utf8"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Field numbers of requests. A first request is large: Envoy's node lists hundreds of extensions, which the server
// does not use, and a sidecar may subscribe to a thousand clusters. Decoding them one by one allocates thousands of
// small objects per client, which fragment the heap. Therefore the extensions are skipped, and the names are
// substrings of one string.
const (
	deltaNode        = 1
	deltaSubscribe   = 3
	deltaUnsubscribe = 4
	sotwNode         = 2
	sotwNames        = 3
	deltaType        = 2
	deltaNonce       = 6
	sotwVersion      = 1
	sotwType         = 4
	sotwNonce        = 5
	nodeExtensions   = 9
)

// incomingRequest is a request and its protocol variant.
type incomingRequest struct {
	request
	sotw bool // protocol variant
}

func (r *incomingRequest) decode(b []byte) error {
	if short, ok := decodeAck(b, r.sotw); ok {
		r.request = short
		return nil
	}
	if r.sotw {
		var m discoveryv3.DiscoveryRequest
		err := decode(b, &m)
		r.request = sotwRequest(&m)
		return err
	}
	var m discoveryv3.DeltaDiscoveryRequest
	err := decode(b, &m)
	r.request = deltaRequest(&m)
	return err
}

// decodeAck decodes the most frequent request, an ACK: type, nonce and optionally a version, which is ignored.
func decodeAck(b []byte, sotw bool) (r request, ok bool) {
	typeField, nonceField, versionField := protowire.Number(deltaType), protowire.Number(deltaNonce),
		protowire.Number(0)
	if sotw {
		typeField, nonceField, versionField = sotwType, sotwNonce, sotwVersion
	}
	for len(b) > 0 {
		number, kind, size := firstField(b)
		if size < 0 || kind != protowire.BytesType {
			return request{}, false
		}
		text := bytesValue(b)
		b = b[size:]
		if !utf8.Valid(text) {
			return request{}, false
		}
		switch number {
		case typeField:
			r.typeURL = internType(text)
		case nonceField:
			r.nonce = string(text)
		case versionField:
		default:
			return request{}, false
		}
	}
	return r, true
}

// internType returns the constant for the types that all sidecars subscribe to.
func internType(typeURL []byte) string {
	switch string(typeURL) {
	case ClusterType:
		return ClusterType
	case EndpointType:
		return EndpointType
	case ListenerType:
		return ListenerType
	case ScopeType:
		return ScopeType
	case RouteType:
		return RouteType
	case SecretType:
		return SecretType
	}
	return string(typeURL)
}

// decode decodes a request of either variant, without the extensions of its node.
func decode(b []byte, v any) error {
	var err error
	switch r := v.(type) {
	case *discoveryv3.DeltaDiscoveryRequest:
		rest, lists := splitRequest(b, deltaNode, deltaSubscribe, deltaUnsubscribe)
		err = proto.Unmarshal(rest, r)
		r.ResourceNamesSubscribe, r.ResourceNamesUnsubscribe = lists[0], lists[1]
	case *discoveryv3.DiscoveryRequest:
		rest, lists := splitRequest(b, sotwNode, sotwNames, 0)
		err = proto.Unmarshal(rest, r)
		r.ResourceNames = lists[0]
	}
	return err
}

// splitRequest removes the lists of names and the node extensions from an encoded request. Invalid input stays in
// rest, so that the decoder reports it.
func splitRequest(b []byte, node protowire.Number, names ...protowire.Number) (rest []byte, lists [2][]string) {
	var found [2][][]byte
	for len(b) > 0 {
		number, kind, size := firstField(b)
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
			found[list] = append(found[list], bytesValue(b))
		case number == node && kind == protowire.BytesType:
			rest = protowire.AppendTag(rest, number, kind)
			rest = protowire.AppendBytes(rest, dropField(bytesValue(b), nodeExtensions))
		default:
			rest = append(rest, b[:size]...)
		}
		b = b[size:]
	}
	for i := range found {
		lists[i] = sliceStrings(found[i])
	}
	return rest, lists
}

// firstField returns number, type and size of the first field of a message. The size is negative if the field is
// invalid.
func firstField(b []byte) (protowire.Number, protowire.Type, int) {
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

// bytesValue returns the value of the first field, which has type bytes.
func bytesValue(b []byte) []byte {
	_, _, head := protowire.ConsumeTag(b)
	v, _ := protowire.ConsumeBytes(b[head:])
	return v
}

// dropField removes all fields with the number and type bytes. Fields of another type stay, so that the decoder
// reports them.
func dropField(b []byte, drop protowire.Number) []byte {
	var rest []byte
	for len(b) > 0 {
		number, kind, size := firstField(b)
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

// sliceStrings converts values to substrings of one string.
func sliceStrings(values [][]byte) []string {
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
