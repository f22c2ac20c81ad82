package grpcserver

import (
	"bytes"
	"slices"
)

// rest is the beginning of something whose end has not come yet.
type rest []byte

// with is it and what came.
func (r *rest) with(data []byte) []byte {
	if len(*r) == 0 {
		return data
	}
	if cap(*r)-len(*r) < len(data) { // twice as much: append alone copies a long message again and again
		*r = slices.Grow(*r, len(*r)+len(data))
	}
	*r = append(*r, data...)
	return *r
}

// keep keeps what is left of what with gave.
func (r *rest) keep(left, of []byte) {
	switch {
	case len(left) == 0:
		*r = nil
	case len(left) < len(of) || len(*r) == 0:
		*r = bytes.Clone(left)
	}
}
