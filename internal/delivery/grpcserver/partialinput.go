package grpcserver

import (
	"bytes"
	"slices"
)

// partialInput buffers the beginning of an incomplete frame or message.
type partialInput []byte

// join returns the buffered bytes followed by data.
func (r *partialInput) join(data []byte) []byte {
	if len(*r) == 0 {
		return data
	}
	// double the capacity: append grows large slices by less, and would copy a long message many times
	if cap(*r)-len(*r) < len(data) {
		*r = slices.Grow(*r, len(*r)+len(data))
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
