package rewrite

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MaxOperations limits the operations of a JSON patch, as the API server does.
const MaxOperations = 10000

// ErrTooManyOperations says that a JSON patch has more than MaxOperations.
var ErrTooManyOperations = errors.New("the patch has too many operations")

// jsonPatch maps the values of operations on the resource version, on metadata and on the annotation.
func (m Mapping) jsonPatch(body []byte) ([]byte, error) {
	var operations []object
	if err := json.Unmarshal(body, &operations); err != nil {
		return nil, fmt.Errorf("the body is not a list of JSON patch operations: %w", err)
	}
	if len(operations) > MaxOperations {
		return nil, fmt.Errorf("%w: %d, the limit is %d", ErrTooManyOperations, len(operations), MaxOperations)
	}
	kept := operations[:0]
	annotation := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m.Annotation)
	for _, o := range operations {
		var path string
		if err := json.Unmarshal(o["path"], &path); err != nil {
			return nil, fmt.Errorf("path of a JSON patch operation: %w", err)
		}
		if path == annotation {
			continue // the member has no such annotation
		}
		if err := m.operation(o, path); err != nil {
			return nil, err
		}
		kept = append(kept, o)
	}
	return json.Marshal(kept)
}

func (m Mapping) operation(o object, path string) error {
	if _, ok := o["value"]; !ok {
		return nil
	}
	switch path {
	case "/metadata/resourceVersion":
		return m.version(o, []string{"value"})
	case "/metadata/annotations":
		return edit(o, "value", func(annotations object) error {
			delete(annotations, m.Annotation)
			return nil
		})
	case "/metadata":
		return edit(o, "value", func(metadata object) error {
			inner := object{"metadata": nil}
			var err error
			if inner["metadata"], err = json.Marshal(metadata); err != nil {
				return err
			}
			if err := m.version(inner, []string{"metadata", "resourceVersion"}); err != nil {
				return err
			}
			if err := m.removeAnnotation(inner); err != nil {
				return err
			}
			clear(metadata)
			return json.Unmarshal(inner["metadata"], &metadata)
		})
	case "":
		mapped, err := m.object(o["value"])
		o["value"] = mapped
		return err
	}
	return nil
}
