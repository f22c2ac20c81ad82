package v1alpha4

import (
	"bytes"
	"encoding/json"
)

// Headers are conditions on headers. The specification of SMI writes one object, the schema of Open Service Mesh a list
// of objects with one header each. Headers keep the form in which they were read.
type Headers struct {
	// Conditions are the objects; one unless IsList is true.
	Conditions []map[string]string
	// IsList is true for the form with a list.
	IsList bool
}

// UnmarshalJSON reads both forms.
func (h *Headers) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	*h = Headers{}
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	if bytes.HasPrefix(text, []byte("[")) {
		h.IsList = true
		return json.Unmarshal(text, &h.Conditions)
	}
	h.Conditions = make([]map[string]string, 1)
	return json.Unmarshal(text, &h.Conditions[0])
}

// MarshalJSON writes the form that was read.
func (h Headers) MarshalJSON() ([]byte, error) {
	if h.IsList {
		return json.Marshal(h.Conditions)
	}
	if len(h.Conditions) == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(h.Conditions[0])
}
