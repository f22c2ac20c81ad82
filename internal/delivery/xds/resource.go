package xds

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Field numbers of envoy.service.discovery.v3.Resource and google.protobuf.Any.
const (
	resourceVersion = 1
	resourceBody    = 2
	resourceName    = 3
	anyTypeURL      = 1
	anyValue        = 2
)

// Resource is a named resource, encoded once for all clients. It is immutable.
type Resource struct {
	// TypeURL is "type.googleapis.com/" and the message's full name.
	TypeURL string
	// Name is unique among the resources of the type.
	Name string
	// Version is a hash of type, name and content. Equal resources have equal versions in every process.
	Version string

	digest     uint64 // part of the same hash, summed up over a type
	deltaField []byte // field "resources" of a DeltaDiscoveryResponse, with tag and length
	sotwAt     uint32 // where sotwField begins
	bodyAt     uint32 // where the message begins

	encoded atomic.Bool // part of at least one response
}

// NewResource encodes a message under a name, which must not be empty. Equal resources share one copy while any of
// them is in use.
func NewResource(name string, message proto.Message) (*Resource, error) {
	if name == "" {
		return nil, fmt.Errorf("resource %s: the name is empty", message.ProtoReflect().Descriptor().FullName())
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w", name, err)
	}
	return newResource(name, "type.googleapis.com/"+string(message.ProtoReflect().Descriptor().FullName()), body), nil
}

func newResource(name, typeURL string, body []byte) *Resource {
	h := sha256.New()
	var size [8]byte
	for _, part := range [][]byte{[]byte(typeURL), []byte(name), body} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:]) // separates the parts of the hash
		h.Write(part)
	}
	var sum [sha256.Size]byte
	h.Sum(sum[:0])
	return internedResources.intern(internKey(sum[:]), func() *Resource {
		return encodeResource(name, typeURL, body, sum)
	})
}

func encodeResource(name, typeURL string, body []byte, sum [sha256.Size]byte) *Resource {
	r := &Resource{
		TypeURL: typeURL, Name: name,
		Version: base64.RawURLEncoding.EncodeToString(sum[:16]),
		digest:  binary.BigEndian.Uint64(sum[16:24]),
	}
	r.encode(body)
	return r
}

// encode encodes the fields with the body at the end. The body is an Any in field 2 of a Resource as well as of a
// DiscoveryResponse: both variants of the protocol share it.
func (r *Resource) encode(body []byte) {
	anySize := stringSize(anyTypeURL, r.TypeURL) + protowire.SizeTag(anyValue) + protowire.SizeBytes(len(body))
	size := stringSize(resourceVersion, r.Version) + stringSize(resourceName, r.Name) +
		protowire.SizeTag(resourceBody) + protowire.SizeBytes(anySize)
	b := make([]byte, 0, protowire.SizeTag(responseResources)+protowire.SizeBytes(size)) // exact size
	b = protowire.AppendTag(b, responseResources, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = appendString(b, resourceVersion, r.Version)
	b = appendString(b, resourceName, r.Name)
	r.sotwAt = uint32(len(b))
	b = protowire.AppendTag(b, resourceBody, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(anySize))
	b = appendString(b, anyTypeURL, r.TypeURL)
	b = protowire.AppendTag(b, anyValue, protowire.BytesType)
	b = protowire.AppendBytes(b, body)
	r.deltaField, r.bodyAt = b, uint32(len(b)-len(body))
}

// sotwField is field "resources" of a DiscoveryResponse: the end of deltaField.
func (r *Resource) sotwField() []byte { return r.deltaField[r.sotwAt:] }

// VersionAlone is the version of a response, as in Observer.Acked, if the resource is the only one of its type.
func (r *Resource) VersionAlone() string { return versionText(r.digest) }

// Body returns the encoded message. The bytes are shared and must not be changed.
func (r *Resource) Body() []byte { return r.deltaField[r.bodyAt:] }

func stringSize(field protowire.Number, s string) int {
	return protowire.SizeTag(field) + protowire.SizeBytes(len(s))
}

func appendString(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// EncodedResource creates a resource from an encoded message. The bytes are copied unless an equal resource exists.
// Name and type must not be empty.
func EncodedResource(typeURL, name string, body []byte) (*Resource, error) {
	if err := CheckName(typeURL, name); err != nil {
		return nil, err
	}
	return newResource(name, typeURL, body), nil
}

// CheckName returns an error if the type or the name of a resource is empty.
func CheckName(typeURL, name string) error {
	if name == "" || typeURL == "" {
		return fmt.Errorf("resource %q of type %q: name or type is empty", name, typeURL)
	}
	return nil
}
