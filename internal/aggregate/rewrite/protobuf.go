package rewrite

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Protobuf is the content type of bodies of built-in kinds in the encoding of Kubernetes.
const Protobuf = "application/vnd.kubernetes.protobuf"

// protobufMagic begins a body; a message runtime.Unknown follows.
var protobufMagic = []byte("k8s\x00")

// Numbers of fields. All built-in kinds have their metadata in field 1, except DeleteOptions, which have none.
const (
	unknownTypeMeta, unknownRaw, unknownEncoding     = 1, 2, 3
	typeMetaKind                                     = 2
	objectMetadata                                   = 1
	metadataUID, metadataVersion, metadataAnnotation = 5, 6, 12
	mapKey                                           = 1
	evictionOptions                                  = 2
	optionsPreconditions, preconditionsVersion       = 2, 2
)

// protobuf maps a body field by field, so that fields that are not known here are kept.
func (m Mapping) protobuf(body []byte) ([]byte, error) {
	message, ok := bytes.CutPrefix(body, protobufMagic)
	if !ok {
		return nil, errors.New("the body is not protobuf in the encoding of Kubernetes")
	}
	kind := ""
	if _, err := editField(message, unknownTypeMeta, func(typeMeta []byte) ([]byte, error) {
		return editField(typeMeta, typeMetaKind, func(text []byte) ([]byte, error) {
			kind = string(text)
			return text, nil
		})
	}); err != nil {
		return nil, err
	}
	if _, err := editField(message, unknownEncoding, func(text []byte) ([]byte, error) {
		if len(text) > 0 {
			return nil, fmt.Errorf("the body has the encoding %.20q, which is not supported; use none", text)
		}
		return text, nil
	}); err != nil {
		return nil, err
	}
	hasObject := false
	mapped, err := editField(message, unknownRaw, func(raw []byte) ([]byte, error) {
		hasObject = true
		if kind == "DeleteOptions" {
			return m.protobufOptions(raw)
		}
		raw, err := editField(raw, objectMetadata, m.protobufMetadata)
		if err == nil && kind == "Eviction" {
			raw, err = editField(raw, evictionOptions, m.protobufOptions)
		}
		return raw, err
	})
	if err == nil && !hasObject {
		err = errors.New("there is no object")
	}
	if err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	return append(bytes.Clone(protobufMagic), mapped...), nil
}

func (m Mapping) protobufOptions(options []byte) ([]byte, error) {
	return editField(options, optionsPreconditions, func(preconditions []byte) ([]byte, error) {
		return editField(preconditions, preconditionsVersion, m.protobufVersion)
	})
}

func (m Mapping) protobufVersion(text []byte) ([]byte, error) {
	if len(text) == 0 { // Empty fields are encoded, too.
		return text, nil
	}
	mapped, err := m.In(string(text))
	return []byte(mapped), err
}

func (m Mapping) protobufMetadata(metadata []byte) ([]byte, error) {
	metadata, err := editField(metadata, metadataVersion, m.protobufVersion)
	if err != nil {
		return nil, err
	}
	hasUID := false
	if _, err := editField(metadata, metadataUID, func(uid []byte) ([]byte, error) {
		hasUID = hasUID || len(uid) > 0
		return uid, nil
	}); err != nil {
		return nil, err
	}
	metadata, err = eachField(metadata, func(number protowire.Number, field, value []byte) ([]byte, error) {
		if number == metadataUID && m.UID != "" && !hasUID {
			return nil, nil
		}
		if number != metadataAnnotation {
			return field, nil
		}
		remove := false
		_, err := editField(value, mapKey, func(key []byte) ([]byte, error) {
			remove = string(key) == m.Annotation
			return key, nil
		})
		if remove {
			field = nil
		}
		return field, err
	})
	if err == nil && m.UID != "" && !hasUID {
		metadata = protowire.AppendTag(metadata, metadataUID, protowire.BytesType)
		metadata = protowire.AppendString(metadata, m.UID)
	}
	return metadata, err
}

// editField changes a field of bytes that a message has at most once.
func editField(message []byte, number protowire.Number, change func([]byte) ([]byte, error)) ([]byte, error) {
	seen := false
	return eachField(message, func(n protowire.Number, field, value []byte) ([]byte, error) {
		if n != number {
			return field, nil
		}
		if seen || value == nil {
			return nil, fmt.Errorf("protobuf field %d is there twice, or is not a text or message", number)
		}
		seen = true
		changed, err := change(value)
		if err != nil {
			return nil, err
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), changed), nil
	})
}

// eachField returns a message with what f returns for each field. The value is nil if the field is not one of bytes.
func eachField(
	message []byte, f func(number protowire.Number, field, value []byte) ([]byte, error),
) ([]byte, error) {
	out := make([]byte, 0, len(message)+64)
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil, fmt.Errorf("protobuf: %w", protowire.ParseError(tag))
		}
		length := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if length < 0 {
			return nil, fmt.Errorf("protobuf: %w", protowire.ParseError(length))
		}
		field := message[:tag+length]
		var value []byte
		if kind == protowire.BytesType {
			bytesOf, _ := protowire.ConsumeBytes(message[tag:])
			value = bytesOf[:len(bytesOf):len(bytesOf)]
			if value == nil {
				value = []byte{}
			}
		}
		changed, err := f(number, field, value)
		if err != nil {
			return nil, err
		}
		out = append(out, changed...)
		message = message[tag+length:]
	}
	return out, nil
}
