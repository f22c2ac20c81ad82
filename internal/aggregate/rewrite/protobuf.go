package rewrite

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Protobuf is the content type of built-in kinds that clients such as controller-runtime prefer.
const Protobuf = "application/vnd.kubernetes.protobuf"

// protobufPrefix begins a body; a runtime.Unknown follows.
var protobufPrefix = []byte("k8s\x00")

// Field numbers, which the API guarantees.
const (
	unknownTypeMeta protowire.Number = 1 // of runtime.Unknown
	unknownRaw      protowire.Number = 2
	typeMetaKind    protowire.Number = 2 // of runtime.TypeMeta

	objectMetadata       protowire.Number = 1 // of each kind with metadata
	metadataUID          protowire.Number = 5 // of ObjectMeta
	metadataVersion      protowire.Number = 6
	metadataAnnotations  protowire.Number = 12
	mapKey               protowire.Number = 1
	optionsPreconditions protowire.Number = 2 // of DeleteOptions
	preconditionsVersion protowire.Number = 2
	evictionOptions      protowire.Number = 2 // of Eviction
)

// protobuf maps a body without decoding it to a type, so that fields of a newer Kubernetes survive.
func (m Mapping) protobuf(body []byte) ([]byte, error) {
	message, ok := bytes.CutPrefix(body, protobufPrefix)
	if !ok {
		return nil, errors.New("the body is not protobuf of Kubernetes: the prefix k8s is missing")
	}
	var kind string
	if _, err := replaceFields(nil, message, unknownTypeMeta, func(typeMeta []byte) ([]byte, error) {
		return replaceFields(nil, typeMeta, typeMetaKind, func(text []byte) ([]byte, error) {
			kind = string(text)
			return text, nil
		})
	}); err != nil {
		return nil, err
	}
	return replaceFields(bytes.Clone(protobufPrefix), message, unknownRaw, func(raw []byte) ([]byte, error) {
		if kind == "DeleteOptions" {
			return m.protobufOptions(raw)
		}
		raw, err := replaceFields(nil, raw, objectMetadata, m.protobufMetadata)
		if err == nil && kind == "Eviction" {
			raw, err = replaceFields(nil, raw, evictionOptions, m.protobufOptions)
		}
		return raw, err
	})
}

// protobufMetadata maps an ObjectMeta.
func (m Mapping) protobufMetadata(metadata []byte) ([]byte, error) {
	hasUID := false
	metadata, err := replaceFields(nil, metadata, metadataUID, func(uid []byte) ([]byte, error) {
		hasUID = len(uid) > 0 // the last one counts
		return uid, nil
	})
	if err != nil {
		return nil, err
	}
	if metadata, err = replaceFields(nil, metadata, metadataVersion, m.protobufVersion); err != nil {
		return nil, err
	}
	metadata, err = replaceFields(nil, metadata, metadataAnnotations, func(entry []byte) ([]byte, error) {
		ours := false
		_, err := replaceFields(nil, entry, mapKey, func(key []byte) ([]byte, error) {
			ours = string(key) == m.Annotation
			return key, nil
		})
		if ours {
			return nil, errDrop
		}
		return entry, err
	})
	if err == nil && m.UID != "" && !hasUID {
		metadata = protowire.AppendTag(metadata, metadataUID, protowire.BytesType)
		metadata = protowire.AppendString(metadata, m.UID)
	}
	return metadata, err
}

func (m Mapping) protobufOptions(options []byte) ([]byte, error) {
	return replaceFields(nil, options, optionsPreconditions, func(preconditions []byte) ([]byte, error) {
		return replaceFields(nil, preconditions, preconditionsVersion, m.protobufVersion)
	})
}

func (m Mapping) protobufVersion(text []byte) ([]byte, error) {
	mapped, err := m.In(string(text))
	return []byte(mapped), err
}

// errDrop is returned by a function of replaceFields to omit the field.
var errDrop = errors.New("the field is omitted")

// replaceFields appends a message to a slice. It replaces the fields of a number that have the type bytes.
func replaceFields(
	to, message []byte, number protowire.Number, replace func([]byte) ([]byte, error),
) ([]byte, error) {
	for len(message) > 0 {
		n, kind, length := protowire.ConsumeField(message)
		if length < 0 {
			return nil, fmt.Errorf("the body is not valid protobuf: %w", protowire.ParseError(length))
		}
		field := message[:length]
		message = message[length:]
		if n != number || kind != protowire.BytesType {
			to = append(to, field...)
			continue
		}
		_, _, tag := protowire.ConsumeTag(field)
		value, _ := protowire.ConsumeBytes(field[tag:])
		value, err := replace(value)
		switch {
		case errors.Is(err, errDrop):
		case err != nil:
			return nil, err
		default:
			to = protowire.AppendBytes(protowire.AppendTag(to, n, kind), value)
		}
	}
	return to, nil
}
