package controlplane

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/client-go/tools/events"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

func TestTextsOfEventsFit(t *testing.T) {
	for _, text := range []string{"short", "100%", strings.Repeat("a", noteLimit), strings.Repeat("a", noteLimit+1), strings.Repeat("ä€", noteLimit)} {
		fake := events.NewFakeRecorder(1)
		fitting{fake}.Eventf(&api.Mesh{}, nil, "Warning", "Why", "What", "%s", text)
		got := strings.TrimPrefix(<-fake.Events, "Warning Why ")
		if len(got) > noteLimit || !utf8.ValidString(got) || len(text) <= noteLimit && got != text || len(text) > noteLimit && !strings.HasSuffix(got, " ...") {
			t.Errorf("of %d bytes remain %d: %.20s...", len(text), len(got), got)
		}
	}
}
