package xds

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
}

// holds are the resources that are written.
func (r *response) holds() []*Resource {
	if r.whole != nil {
		return r.whole
	}
	return r.changed
}

// encode returns the message in parts, of which all but the first are shared, and its size in bytes.
func (r *response) encode() ([][]byte, int) {
	size := 3*(1+2) + len(r.version) + len(r.typeURL) + len(r.nonce)
	if !r.world {
		for _, name := range r.removed {
			size += 1 + 3 + len(name)
		}
	}
	head := make([]byte, 0, size)
	head = appendString(head, responseVersion, r.version)
	head = appendString(head, responseType, r.typeURL)
	head = appendString(head, responseNonce, r.nonce)
	if !r.world {
		for _, name := range r.removed {
			head = appendString(head, responseRemoved, name)
		}
	}
	holds := r.holds()
	parts := make([][]byte, 1, 1+len(holds))
	parts[0] = head
	size = len(head)
	for _, c := range holds {
		part := c.wire
		if r.world {
			part = c.plain
		}
		parts = append(parts, part)
		size += len(part)
	}
	return parts, size
}
