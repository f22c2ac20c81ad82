package aggregate

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/rewrite"
)

// protobufMagic begins an object in protobuf; a message runtime.Unknown follows.
const protobufMagic = "k8s\x00"

// Numbers of the fields of runtime.Unknown and of all lists.
const (
	unknownTypeMeta, unknownRaw       = 1, 2
	typeMetaVersion, typeMetaKind     = 1, 2
	listMetadata, listItems           = 1, 2
	partialKind, partialListKind      = "PartialObjectMetadata", "PartialObjectMetadataList"
	protobufWatch, protobufFramePlace = rewrite.Protobuf + ";stream=watch", 4
)

var metaGroupVersion = schema.GroupVersion{Group: "meta.k8s.io", Version: "v1"}

// message is a Go type with the encoding of Kubernetes.
type message interface {
	runtime.Object
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// hasProtobuf reports whether a kind has an encoding in protobuf. Custom resources have none.
func (k *registered) hasProtobuf() bool {
	return scheme.Scheme.Recognizes(k.kind.Resource.GroupVersion().WithKind(k.kind.Kind))
}

func newMessage(kind schema.GroupVersionKind) (message, error) {
	if kind == metaGroupVersion.WithKind(partialKind) {
		return &metav1.PartialObjectMetadata{}, nil
	}
	o, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	m, ok := o.(message)
	if !ok {
		return nil, fmt.Errorf("%s has no encoding in protobuf", kind)
	}
	return m, nil
}

// protobufEncoder converts objects of a kind to protobuf. It is for one goroutine.
type protobufEncoder struct {
	kind    schema.GroupVersionKind
	partial bool
	text    []byte
}

func newProtobufEncoder(kind *registered, f format) *protobufEncoder {
	e := &protobufEncoder{kind: kind.kind.Resource.GroupVersion().WithKind(kind.kind.Kind)}
	if f.form == formPartial {
		e.kind, e.partial = metaGroupVersion.WithKind(partialKind), true
	}
	return e
}

// message returns an object of the cache as a Go type. Fields that this version of Kubernetes' types lacks are lost.
func (e *protobufEncoder) message(o cache.Object) (message, error) {
	if e.partial {
		e.text = o.AppendPartialJSON(e.text[:0])
	} else {
		e.text = o.AppendJSON(e.text[:0])
	}
	m, err := newMessage(e.kind)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(e.text, m); err != nil {
		return nil, fmt.Errorf("converting %s/%s of cluster %s to protobuf: %w", o.Namespace(), o.Name(), o.Cluster(), err)
	}
	return m, nil
}

func (e *protobufEncoder) object(o cache.Object) ([]byte, error) {
	m, err := e.message(o)
	if err != nil {
		return nil, err
	}
	return objectBody(e.kind, m)
}

// objectBody returns an object as the body of an answer has it.
func objectBody(kind schema.GroupVersionKind, m message) ([]byte, error) {
	size := m.Size()
	return appendMessage(appendHead(nil, kind, size), m, size)
}

// appendHead appends what precedes the bytes of an object. Two fields of runtime.Unknown that follow are left out,
// because they are empty.
func appendHead(to []byte, kind schema.GroupVersionKind, size int) []byte {
	var types []byte
	types = protowire.AppendTag(types, typeMetaVersion, protowire.BytesType)
	types = protowire.AppendString(types, kind.GroupVersion().String())
	types = protowire.AppendTag(types, typeMetaKind, protowire.BytesType)
	types = protowire.AppendString(types, kind.Kind)
	to = append(to, protobufMagic...)
	to = protowire.AppendTag(to, unknownTypeMeta, protowire.BytesType)
	to = protowire.AppendBytes(to, types)
	to = protowire.AppendTag(to, unknownRaw, protowire.BytesType)
	return protowire.AppendVarint(to, uint64(size))
}

func appendMessage(to []byte, m message, size int) ([]byte, error) {
	from := len(to)
	to = append(to, make([]byte, size)...)
	_, err := m.MarshalToSizedBuffer(to[from:])
	return to, err
}

// chunkSize is the size of the buffers of a list: one buffer would be copied when it grows.
const chunkSize = 1 << 20

// list returns the parts of a list. Its length precedes it, so that all items are in memory. It ends when the client
// gives up.
func (e *protobufEncoder) list(ctx context.Context, kind *registered, l *cache.List) (net.Buffers, error) {
	meta := metav1.ListMeta{
		ResourceVersion: l.ResourceVersion, Continue: l.Continue, RemainingItemCount: l.Remaining,
	}
	text, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	chunk := protowire.AppendBytes(protowire.AppendTag(nil, listMetadata, protowire.BytesType), text)
	chunks := net.Buffers{nil} // The first is the head.
	total := 0
	for o := range l.All() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := e.message(o)
		if err != nil {
			return nil, err
		}
		size := m.Size()
		if len(chunk)+size > chunkSize {
			chunks, total = append(chunks, chunk), total+len(chunk)
			chunk = make([]byte, 0, max(chunkSize, size+2*binary.MaxVarintLen64))
		}
		chunk = protowire.AppendTag(chunk, listItems, protowire.BytesType)
		if chunk, err = appendMessage(protowire.AppendVarint(chunk, uint64(size)), m, size); err != nil {
			return nil, err
		}
	}
	chunks, total = append(chunks, chunk), total+len(chunk)
	of := e.kind.GroupVersion().WithKind(kind.kind.ListKind)
	if e.partial {
		of.Kind = partialListKind
	}
	chunks[0] = appendHead(nil, of, total)
	return chunks, nil
}

// event returns an event with its length in front.
func (e *protobufEncoder) event(event cache.Event) ([]byte, error) {
	kind := e.kind
	var m message
	var err error
	switch event.Type {
	case watch.Error:
		kind, m = schema.GroupVersionKind{Version: "v1", Kind: "Status"}, event.Status()
	case watch.Bookmark:
		m, err = e.bookmark(event)
	default:
		m, err = e.message(event.Object)
	}
	if err != nil {
		return nil, err
	}
	object, err := objectBody(kind, m)
	if err != nil {
		return nil, err
	}
	w := metav1.WatchEvent{Type: string(event.Type), Object: runtime.RawExtension{Raw: object}}
	size := w.Size()
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, protobufFramePlace+size), uint32(size))
	return appendMessage(frame, &w, size)
}

func (e *protobufEncoder) bookmark(event cache.Event) (message, error) {
	m, err := newMessage(e.kind)
	if err != nil {
		return nil, err
	}
	o, err := meta.Accessor(m)
	if err != nil {
		return nil, err
	}
	o.SetResourceVersion(event.ResourceVersion)
	if event.InitialEventsEnd {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return m, nil
}

// protobufOf converts an object in JSON; false if its kind has no protobuf.
func protobufOf(text []byte) ([]byte, bool) {
	var t metav1.TypeMeta
	if json.Unmarshal(text, &t) != nil {
		return nil, false
	}
	m, err := newMessage(t.GroupVersionKind())
	if err != nil || json.Unmarshal(text, m) != nil {
		return nil, false
	}
	out, err := objectBody(t.GroupVersionKind(), m)
	return out, err == nil
}
