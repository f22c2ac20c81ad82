package jsonsocket

import (
	"encoding/json"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/stream"
)

// pipes reads from one pipe and drops what is written.
type pipes struct{ *stream.Pipe }

func (pipes) Write(b []byte) (int, error) { return len(b), nil }

// FuzzAccept accepts any first message: a header is an object with a version, and everything else is an error.
func FuzzAccept(f *testing.F) {
	f.Add(`{"JSONSocketVersion": 1, "a": {"b": [1]}}`)
	f.Add(`{"JSONSocketVersion": 2}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		p := stream.NewPipe(nil)
		_, _ = p.Write([]byte(text))
		_ = p.CloseWrite()
		_, header, err := Accept(pipes{p})
		if err != nil {
			return
		}
		var v map[string]any
		if json.Unmarshal([]byte(text), &v) != nil || header[fieldVersion] == nil {
			t.Errorf("%q is accepted: %v", text, header)
		}
	})
}
