package v1alpha4

import (
	"encoding/json"
	"strconv"
)

// Weight is a number as it is written: the schema allows fractions, which have no meaning.
// +kubebuilder:validation:Type=number
type Weight string

// MarshalJSON writes the number as it was read.
func (w Weight) MarshalJSON() ([]byte, error) { return json.Marshal(json.Number(w)) }

// UnmarshalJSON reads a number.
func (w *Weight) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, (*json.Number)(w)) }

// Number returns the weight. It reports false unless it is a whole number from 0 to 4294967295.
func (w Weight) Number() (uint32, bool) {
	if w == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(string(w), 10, 32)
	return uint32(n), err == nil
}
