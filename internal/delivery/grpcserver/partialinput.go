package grpcserver

import "bytes"

// partialInput buffers the beginning of an incomplete frame or short message.
type partialInput []byte

// join returns the buffered bytes followed by data.
func (r *partialInput) join(data []byte) []byte {
	if len(*r) == 0 {
		return data
	}
	r.append(data, 0)
	return *r
}

// append buffers data. most is the expected length of the input, or 0.
func (r *partialInput) append(data []byte, most int) {
	if n := r.capacityFor(len(data), most); n > cap(*r) {
		*r = append(make([]byte, 0, n), *r...)
	}
	*r = append(*r, data...)
}

// capacityFor returns the capacity after join of more bytes. It doubles: append grows large slices by less, and would
// copy a long message many times.
func (r *partialInput) capacityFor(more, most int) int {
	need := len(*r) + more
	if need <= cap(*r) {
		return cap(*r)
	}
	if most > 0 {
		return max(need, min(2*need, most))
	}
	return 2 * need
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
