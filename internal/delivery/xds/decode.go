package xds

import (
	"unicode/utf8"
	"unsafe"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
)

// requestFields are the field numbers of a request variant.
type requestFields struct {
	node, typeURL, nonce, names, unsubscribe, versions, errorDetail protowire.Number
}

var (
	deltaFields = requestFields{node: 1, typeURL: 2, names: 3, unsubscribe: 4, versions: 5, nonce: 6, errorDetail: 7}
	sotwFields  = requestFields{node: 2, names: 3, typeURL: 4, nonce: 5, errorDetail: 6}
)

func fieldsOf(sotw bool) requestFields {
	if sotw {
		return sotwFields
	}
	return deltaFields
}

// Field numbers of core.v3.Node, google.rpc.Status and map entries.
const (
	nodeID, nodeCluster, nodeExtensions = 1, 2, 9
	statusCode, statusMessage           = 1, 2
	entryKey, entryValue                = 1, 2
)

// decodeRequest decodes a request of either variant, without its node. Only fields that the server uses are decoded:
// the memory of a request is proportional to its length, whatever it contains. The names, which may be thousands, are
// not copied: they are valid until b is modified. The lists may be released when the request is handled.
func decodeRequest(b []byte, sotw bool, o *Options) (request, error) {
	var r request
	fields := fieldsOf(sotw)
	names, unsubscribe, versions, err := countNames(b, fields)
	if err != nil {
		return r, err
	}
	if most := max(names.count, unsubscribe.count, versions.count); most > o.MaxNamesPerType {
		return r, refuse(reasonResourceNames, codes.ResourceExhausted, "a request has %d names, at most %d are allowed",
			most, o.MaxNamesPerType)
	}
	for len(b) > 0 {
		number, kind, size := firstField(b)
		if size < 0 {
			return r, errMalformed
		}
		if kind == protowire.BytesType {
			value := bytesValue(b)
			switch number {
			case fields.typeURL:
				r.typeURL = internType(value)
			case fields.nonce:
				r.nonce = string(value)
			case fields.names:
				names.add(value)
			case fields.unsubscribe:
				unsubscribe.add(value)
			case fields.versions:
				err = versions.addEntry(value)
			case fields.errorDetail:
				r.errorDetail, err = decodeStatus(value, r.errorDetail)
			}
		}
		if err != nil {
			return r, err
		}
		b = b[size:]
	}
	if !utf8.ValidString(r.typeURL) || !utf8.ValidString(r.nonce) {
		return r, errMalformed
	}
	if sotw {
		r.sotwNames = names.all
	} else {
		r.subscribe, r.unsubscribe, r.versions = names.all, unsubscribe.all, versions.pairs
	}
	return r, nil
}

var errMalformed = refuse(reasonMalformed, codes.InvalidArgument, "the request is not a valid protobuf message")

// countNames counts the names of a request, so that they are not stored before their number is checked.
func countNames(b []byte, fields requestFields) (names, unsubscribe, versions nameList, err error) {
	for len(b) > 0 {
		number, kind, size := firstField(b)
		if size < 0 {
			return names, unsubscribe, versions, errMalformed
		}
		if kind == protowire.BytesType {
			switch number {
			case fields.names:
				names.count++
			case fields.unsubscribe:
				unsubscribe.count++
			case fields.versions:
				versions.count++
			}
		}
		b = b[size:]
	}
	return names, unsubscribe, versions, nil
}

// nameList is a list of names, or of pairs of a name and a version.
type nameList struct {
	count int
	all   []string
	pairs []nameVersion
}

// nameVersion is an entry of initial_resource_versions.
type nameVersion struct{ name, version string }

// view returns a string that shares the bytes.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (l *nameList) add(value []byte) {
	if l.all == nil {
		l.all = nameLists.get(l.count)
	}
	l.all = append(l.all, view(value))
}

func (l *nameList) addEntry(b []byte) error {
	if l.pairs == nil {
		l.pairs = versionLists.get(l.count)
	}
	var key, value []byte
	for len(b) > 0 {
		number, kind, size := firstField(b)
		switch {
		case size < 0:
			return errMalformed
		case number == entryKey && kind == protowire.BytesType:
			key = bytesValue(b)
		case number == entryValue && kind == protowire.BytesType:
			value = bytesValue(b)
		}
		b = b[size:]
	}
	l.pairs = append(l.pairs, nameVersion{view(key), view(value)})
	return nil
}

// decodeStatus adds the fields of an encoded google.rpc.Status to a status, without details.
func decodeStatus(b []byte, to *statuspb.Status) (*statuspb.Status, error) {
	if to == nil {
		to = &statuspb.Status{}
	}
	for len(b) > 0 {
		number, kind, size := firstField(b)
		switch {
		case size < 0:
			return nil, errMalformed
		case number == statusCode && kind == protowire.VarintType:
			_, _, head := protowire.ConsumeTag(b)
			code, _ := protowire.ConsumeVarint(b[head:])
			to.Code = int32(code)
		case number == statusMessage && kind == protowire.BytesType:
			message := bytesValue(b)
			to.Message = string(message[:min(len(message), maxMessage+1)]) // truncated later
		}
		b = b[size:]
	}
	return to, nil
}

// decodeNode returns ID and cluster of the node of a request, or nil if it has none. All other fields are ignored:
// Envoy's node lists hundreds of extensions. size is the length of the node without them.
func decodeNode(b []byte, sotw bool) (node *corev3.Node, size int, err error) {
	fields := fieldsOf(sotw)
	for len(b) > 0 {
		number, kind, length := firstField(b)
		if length < 0 {
			return nil, 0, errMalformed
		}
		if number == fields.node && kind == protowire.BytesType {
			if node == nil {
				node = &corev3.Node{}
			}
			n, err := addNode(node, bytesValue(b))
			if err != nil {
				return nil, 0, err
			}
			size += n
		}
		b = b[length:]
	}
	return node, size, nil
}

func addNode(node *corev3.Node, b []byte) (size int, err error) {
	for len(b) > 0 {
		number, kind, length := firstField(b)
		if length < 0 {
			return 0, errMalformed
		}
		if kind == protowire.BytesType {
			switch number {
			case nodeID:
				node.Id = string(bytesValue(b))
			case nodeCluster:
				node.Cluster = string(bytesValue(b))
			}
		}
		if number != nodeExtensions {
			size += length
		}
		b = b[length:]
	}
	if !utf8.ValidString(node.Id) || !utf8.ValidString(node.Cluster) {
		return 0, errMalformed
	}
	return size, nil
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
