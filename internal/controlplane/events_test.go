package controlplane

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/client-go/tools/events"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

func TestEventNotesAreTruncated(t *testing.T) {
	for _, text := range []string{
		"short", "100%", strings.Repeat("a", maxNoteLength), strings.Repeat("a", maxNoteLength+1),
		strings.Repeat("ä€", maxNoteLength),
	} {
		fake := events.NewFakeRecorder(1)
		truncatingRecorder{fake}.Eventf(&api.Mesh{}, nil, "Warning", "Why", "What", "%s", text)
		got := strings.TrimPrefix(<-fake.Events, "Warning Why ")
		if len(got) > maxNoteLength || !utf8.ValidString(got) || len(text) <= maxNoteLength && got != text ||
			len(text) > maxNoteLength && !strings.HasSuffix(got, " ...") {
			t.Errorf("%d bytes: got %d bytes: %.20s...", len(text), len(got), got)
		}
	}
}
