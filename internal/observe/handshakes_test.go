package observe

import (
	"strings"
	"testing"
)

// TestHandshakes checks that two Envoys succeed and fail to connect as the interpreter decides, for the product of all
// modes and certificates of servers, and client policies with all certificates and names.
func TestHandshakes(t *testing.T) {
	for _, s := range envoys(t) {
		t.Run(s.Name, func(t *testing.T) {
			lines, err := runInside(t.Context(), envHandshakes+"=1", envSidecar+"="+s.Name)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				if count, ok := strings.CutPrefix(line, handshakeCount); !ok {
					t.Error(line)
				} else if t.Log(count); strings.HasSuffix(count, ": 0") {
					t.Errorf("no handshake has this result: %s", count)
				}
			}
		})
	}
}
