package grpcserver

import (
	"bytes"
	"slices"
)

// partialInput buffers the beginning of an incomplete frame or message.
type partialInput []byte

// join returns the buffered bytes followed by data. most is the expected length of the input, or 0.
func (r *partialInput) join(data []byte, most int) []byte {
	if len(*r) == 0 {
		return data
	}
	// double the capacity: append grows large slices by less, and would copy a long message many times
	if need := len(*r) + len(data); cap(*r) < need {
		grown := 2 * need
		if most > 0 {
			grown = max(need, min(grown, most))
		}
		*r = slices.Grow(*r, grown-len(*r))
	}
	*r = append(*r, data...)
	return *r
}

// retain buffers the unprocessed bytes of a slice that join returned.
func (r *partialInput) retain(left, of []byte) {
	switch {
	case len(left) == 0:
		*r = nil
	case len(left) < len(of) || len(*r) == 0:
		*r = bytes.Clone(left)
	}
}
