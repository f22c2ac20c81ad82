package http1

import "bytes"

// options handles the options of Connection.
func (h *head) options(value []byte) error {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte{','})
		option = trim(option)
		switch {
		case len(option) == 0:
		case !all(option, tokenByte):
			return errConnection
		case is(option, "close"):
			h.Close = true
		case is(option, "keep-alive"):
			h.keepAlive = true
		case is(option, "upgrade"):
			h.optioned = true
		case is(option, "host"), is(option, "content-length"), is(option, "transfer-encoding"), is(option, "connection"),
			is(option, "authorization"), is(option, "cookie"), is(option, "content-type"):
			return errConnection // a peer must not remove what routing and the endpoint need
		default:
			h.named = true
		}
	}
	return nil
}

// finish checks the fields together.
func (h *head) finish() error {
	if h.Chunked {
		if h.Length >= 0 {
			return errBothLengths
		}
		if h.Minor == 0 {
			return errCodingIn10
		}
	}
	if h.Minor == 0 && !h.keepAlive {
		h.Close = true
	}
	if h.optioned && h.Minor == 1 {
		h.Upgrade = h.upgrade
	}
	if h.named {
		h.markNamed()
	}
	return nil
}

// markNamed marks the fields that options of Connection name.
func (h *head) markNamed() {
	for i := range h.Fields {
		if !is(h.Fields[i].Name, "connection") {
			continue
		}
		for value := h.Fields[i].Value; len(value) > 0; {
			var option []byte
			option, value, _ = bytes.Cut(value, []byte{','})
			option = trim(option)
			for j := range h.Fields {
				if bytes.EqualFold(h.Fields[j].Name, option) {
					h.Fields[j].Hop = true
				}
			}
		}
	}
}
