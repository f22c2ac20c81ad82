package h2frame

import "golang.org/x/net/http2"

// RecvWindow is the flow-control window of received data, in bytes.
type RecvWindow struct {
	// Remaining is what the peer may still send.
	Remaining int
	consumed  int // processed bytes without a WINDOW_UPDATE yet
}

// Receive counts received bytes.
func (w *RecvWindow) Receive(n int) error {
	if w.Remaining -= n; w.Remaining < 0 {
		return http2.ConnectionError(http2.ErrCodeFlowControl)
	}
	return nil
}

// Release returns processed bytes to the window. It returns the increment of a WINDOW_UPDATE to send, or 0 until it
// is at least so many bytes.
func (w *RecvWindow) Release(n, least int) (by int) {
	if w.consumed += n; w.consumed < least {
		return 0
	}
	by = w.consumed
	w.Remaining += by
	w.consumed = 0
	return by
}

// MinWindowUpdate is the smallest WINDOW_UPDATE increment, in bytes, that is not charged to the flood guard: smaller
// ones cause more work than they are worth (CVE-2019-9511).
const MinWindowUpdate = 1 << 10
