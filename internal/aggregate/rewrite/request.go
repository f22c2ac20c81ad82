package rewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"

	"sigs.k8s.io/yaml"
)

// Content types of bodies.
const (
	JSON           = "application/json"
	MergePatch     = "application/merge-patch+json"
	StrategicPatch = "application/strategic-merge-patch+json"
	JSONPatch      = "application/json-patch+json"
	Apply          = "application/apply-patch+yaml"
)

// ErrMediaType is the error of a body in another encoding than those of Kubernetes.
var ErrMediaType = errors.New("the content type is not supported; use " + JSON + ", " + MergePatch + ", " +
	StrategicPatch + ", " + JSONPatch + ", " + Apply + " or " + Protobuf)

// Mapping is what changes between the aggregated view and the owner of an object.
type Mapping struct {
	// Annotation names the cluster of an object in the aggregated view.
	Annotation string
	// Cluster is the owner.
	Cluster string
	// In maps a global resource version to that of the owner. Out is the reverse.
	In, Out func(string) (string, error)
	// UID is set in objects that have none, so that the owner does not create an object that is gone. Empty sets none.
	UID string
}

type object = map[string]json.RawMessage

// Request maps a body for the owner.
func (m Mapping) Request(contentType string, body []byte) ([]byte, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return body, nil
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if contentType == "" {
		kind, err = JSON, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMediaType, err)
	}
	switch kind {
	case JSON, MergePatch, StrategicPatch:
		return m.object(body)
	case Apply:
		if body, err = yaml.YAMLToJSONStrict(body); err != nil {
			return nil, fmt.Errorf("the body is not valid YAML: %w", err)
		}
		return m.object(body)
	case JSONPatch:
		return m.jsonPatch(body)
	case Protobuf:
		return m.protobuf(body)
	}
	return nil, fmt.Errorf("content type %q: %w", kind, ErrMediaType)
}

func (m Mapping) object(body []byte) ([]byte, error) {
	o, err := decode(body, "the body")
	if err != nil {
		return nil, err
	}
	// DeleteOptions have the preconditions at the root, an Eviction in deleteOptions.
	for _, path := range [][]string{
		{"metadata", "resourceVersion"},
		{"preconditions", "resourceVersion"},
		{"deleteOptions", "preconditions", "resourceVersion"},
	} {
		if err := m.version(o, path); err != nil {
			return nil, err
		}
	}
	if err := m.removeAnnotation(o); err != nil {
		return nil, err
	}
	if m.UID != "" {
		if err := setIfAbsent(o, "uid", m.UID); err != nil {
			return nil, err
		}
	}
	return json.Marshal(o)
}

func (m Mapping) version(o object, path []string) error {
	value, ok := o[path[0]]
	if !ok || bytes.Equal(value, []byte("null")) {
		return nil
	}
	if len(path) > 1 {
		inner, err := decode(value, path[0])
		if err != nil {
			return err
		}
		if err := m.version(inner, path[1:]); err != nil {
			return err
		}
		o[path[0]], err = json.Marshal(inner)
		return err
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return fmt.Errorf("%s is not a string: %w", path[0], err)
	}
	text, err := m.In(text)
	if err != nil {
		return err
	}
	o[path[0]], err = json.Marshal(text)
	return err
}

func (m Mapping) removeAnnotation(o object) error {
	return edit(o, "metadata", func(metadata object) error {
		return edit(metadata, "annotations", func(annotations object) error {
			delete(annotations, m.Annotation)
			return nil
		})
	})
}

func setIfAbsent(o object, field, text string) error {
	return edit(o, "metadata", func(metadata object) error {
		var err error
		if _, ok := metadata[field]; !ok {
			metadata[field], err = json.Marshal(text)
		}
		return err
	})
}

// edit changes a member that is an object, and does nothing if there is none.
func edit(o object, field string, change func(object) error) error {
	value, ok := o[field]
	if !ok || bytes.Equal(value, []byte("null")) {
		return nil
	}
	inner, err := decode(value, field)
	if err != nil {
		return err
	}
	if err := change(inner); err != nil {
		return err
	}
	o[field], err = json.Marshal(inner)
	return err
}

func decode(text []byte, what string) (object, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("%s is not a JSON object: %w", what, err)
	}
	if o == nil {
		return nil, fmt.Errorf("%s is not a JSON object", what)
	}
	return o, nil
}
