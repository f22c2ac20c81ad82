package rewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
)

// metadataName is the number of the field name in ObjectMeta.
const metadataName = 1

// Name returns metadata.name of an object in JSON or protobuf; empty if it has none.
func Name(contentType string, body []byte) (string, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if contentType == "" {
		kind, err = JSON, nil
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrMediaType, err)
	}
	switch kind {
	case JSON:
		var o struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(body, &o); err != nil {
			return "", fmt.Errorf("the body is not an object in JSON: %w", err)
		}
		return o.Metadata.Name, nil
	case Protobuf:
		return protobufName(body)
	}
	return "", fmt.Errorf("content type %q: %w", kind, ErrMediaType)
}

func protobufName(body []byte) (string, error) {
	message, ok := bytes.CutPrefix(body, protobufMagic)
	if !ok {
		return "", errors.New("the body is not protobuf in the encoding of Kubernetes")
	}
	name := ""
	_, err := editField(message, unknownRaw, func(raw []byte) ([]byte, error) {
		return editField(raw, objectMetadata, func(metadata []byte) ([]byte, error) {
			return editField(metadata, metadataName, func(text []byte) ([]byte, error) {
				name = string(text)
				return text, nil
			})
		})
	})
	return name, err
}
