package xds

// Field numbers of envoy.service.discovery.v3.DeltaDiscoveryResponse.
const (
	responseVersion   = 1
	responseResources = 2
	responseType      = 4
	responseNonce     = 5
	responseRemoved   = 6
)

// response is one DeltaDiscoveryResponse.
type response struct {
	typeURL string
	nonce   string
	version string
	changed []*Resource
	removed []string
}

// encode returns the message in parts, of which all but the first are shared.
func (r *response) encode() [][]byte {
	var head []byte
	head = appendString(head, responseVersion, r.version)
	head = appendString(head, responseType, r.typeURL)
	head = appendString(head, responseNonce, r.nonce)
	for _, name := range r.removed {
		head = appendString(head, responseRemoved, name)
	}
	parts := make([][]byte, 1, 1+len(r.changed))
	parts[0] = head
	for _, c := range r.changed {
		parts = append(parts, c.wire)
	}
	return parts
}
