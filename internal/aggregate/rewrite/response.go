package rewrite

import (
	"bytes"
	"encoding/json"
)

// Response maps an answer of the owner: an object gets the global version and the annotation. A Status, which has no
// object, is unchanged.
func (m Mapping) Response(body []byte) ([]byte, error) {
	o, err := decode(body, "the answer of cluster "+m.Cluster)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(o["kind"], []byte(`"Status"`)) {
		return body, nil
	}
	err = edit(o, "metadata", func(metadata object) error {
		var text string
		if value, ok := metadata["resourceVersion"]; ok {
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
		}
		if text == "" {
			return nil
		}
		if text, err = m.Out(text); err != nil {
			return err
		}
		if metadata["resourceVersion"], err = json.Marshal(text); err != nil {
			return err
		}
		if _, ok := metadata["annotations"]; !ok {
			metadata["annotations"] = json.RawMessage("{}")
		}
		return edit(metadata, "annotations", func(annotations object) error {
			annotations[m.Annotation], err = json.Marshal(m.Cluster)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}
