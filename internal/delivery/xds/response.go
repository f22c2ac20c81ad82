package xds

import (
	"slices"
	"sync"
)

// Field numbers of envoy.service.discovery.v3.DeltaDiscoveryResponse.
const (
	responseVersion   = 1
	responseResources = 2
	responseType      = 4
	responseNonce     = 5
	responseRemoved   = 6
)

// Those of envoy.service.discovery.v3.DiscoveryResponse are the same, but for responseRemoved.

// response is one DeltaDiscoveryResponse, or DiscoveryResponse.
type response struct {
	typeURL string
	nonce   string
	version string
	changed []*Resource
	removed []string

	impatient bool // sent although an earlier one of the type is unanswered

	world bool        // a DiscoveryResponse
	whole []*Resource // what it holds if that is not changed alone

	head  []byte // what encode gives, and room for it
	parts [][]byte
}

// responses are used again: most hold one resource, and are over as soon as they are sent.
var responses = sync.Pool{New: func() any { return &response{} }}

// usual is how much room is kept for heads, in bytes, and for parts.
const usual = 512

// release gives a response back that was sent.
func (r *response) release() {
	if cap(r.head) > usual || cap(r.parts) > usual {
		return
	}
	clear(r.parts)
	*r = response{head: r.head[:0], parts: r.parts[:0]}
	responses.Put(r)
}

// holds are the resources that are written.
func (r *response) holds() []*Resource {
	if r.whole != nil {
		return r.whole
	}
	return r.changed
}

// encode returns the message in parts, of which all but the first are shared, and its size in bytes. The parts are good until it is
// released.
func (r *response) encode() ([][]byte, int) {
	size := 3*(1+2) + len(r.version) + len(r.typeURL) + len(r.nonce)
	if !r.world {
		for _, name := range r.removed {
			size += 1 + 3 + len(name)
		}
	}
	head := slices.Grow(r.head[:0], size)
	head = appendString(head, responseVersion, r.version)
	head = appendString(head, responseType, r.typeURL)
	head = appendString(head, responseNonce, r.nonce)
	if !r.world {
		for _, name := range r.removed {
			head = appendString(head, responseRemoved, name)
		}
	}
	holds := r.holds()
	parts := append(slices.Grow(r.parts[:0], 1+len(holds)), head)
	r.head, size = head, len(head)
	for _, c := range holds {
		part := c.wire
		if r.world {
			part = c.plain
		}
		parts = append(parts, part)
		size += len(part)
	}
	r.parts = parts
	return parts, size
}
