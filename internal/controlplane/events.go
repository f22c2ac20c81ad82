package controlplane

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"anymesh.dev/anymesh/internal/truncate"
)

// maxNoteLength is how long the API server allows the text of an event to be, in bytes. It refuses longer ones.
const maxNoteLength = 1024

// recorder sends events, with the repetition of one counted in it.
func (cp *controlPlane) recorder(ctx context.Context) events.EventRecorder {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: cp.kube.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cp.Log.Warn("events are not recorded", "error", err)
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return truncatingRecorder{broadcaster.NewRecorder(cp.client.Scheme(), "anymesh")}
}

// truncatingRecorder records events with texts that fit.
type truncatingRecorder struct{ events.EventRecorder }

// Eventf is for events.EventRecorder.
func (f truncatingRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	f.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", truncated(fmt.Sprintf(note, args...)))
}

func truncated(text string) string { return truncate.WithEllipsis(text, maxNoteLength) }
