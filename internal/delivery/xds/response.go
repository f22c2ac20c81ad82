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

// The numbers of envoy.service.discovery.v3.DiscoveryResponse are the same, except responseRemoved.

// response is one DeltaDiscoveryResponse, or DiscoveryResponse.
type response struct {
	typeURL string
	nonce   string
	version string
	changed []*Resource
	list    *resourceList // memory of changed; may be nil
	removed []string

	afterAckTimeout bool // sent after AckTimeout passed for an earlier response of the type

	sotw bool        // encode as DiscoveryResponse
	full []*Resource // resources in the response, if not only the changed ones

	header []byte // result of encode, and its buffer
	parts  [][]byte
	shared int // bytes of resources that a response before had; result of encode
}

// responsePool reuses responses: most hold one resource and are released right after the send.
var responsePool = sync.Pool{New: func() any { return &response{} }}

// Largest capacities of header (bytes) and parts (elements) that the pool keeps.
const (
	maxPooledHeader = 512
	maxPooledParts  = 1 << 14
)

// release returns a sent response to the pool.
func (r *response) release() {
	r.list.done()
	if cap(r.header) > maxPooledHeader || cap(r.parts) > maxPooledParts {
		return
	}
	clear(r.parts)
	*r = response{header: r.header[:0], parts: r.parts[:0]}
	responsePool.Put(r)
}

// sentResources returns the resources in the response.
func (r *response) sentResources() []*Resource {
	if r.full != nil {
		return r.full
	}
	return r.changed
}

// encode returns the message in parts, and its size in bytes. All parts except the first are shared between clients.
// The parts are valid until release.
func (r *response) encode() ([][]byte, int) {
	size := 3*(1+2) + len(r.version) + len(r.typeURL) + len(r.nonce)
	if !r.sotw {
		for _, name := range r.removed {
			size += 1 + 3 + len(name)
		}
	}
	head := slices.Grow(r.header[:0], size)
	head = appendString(head, responseVersion, r.version)
	head = appendString(head, responseType, r.typeURL)
	head = appendString(head, responseNonce, r.nonce)
	if !r.sotw {
		for _, name := range r.removed {
			head = appendString(head, responseRemoved, name)
		}
	}
	holds := r.sentResources()
	parts := append(slices.Grow(r.parts[:0], 1+len(holds)), head)
	r.header, size = head, len(head)
	r.shared = 0
	for _, c := range holds {
		part := c.deltaField
		if r.sotw {
			part = c.sotwField()
		}
		parts = append(parts, part)
		size += len(part)
		if c.encoded.Load() || c.encoded.Swap(true) {
			r.shared += len(part)
		}
	}
	r.parts = parts
	return parts, size
}
