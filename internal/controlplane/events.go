package controlplane

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"anymesh.dev/anymesh/internal/truncate"
)

// maxNoteLength is the API server's limit for the note of an event, in bytes. It rejects longer notes.
const maxNoteLength = 1024

// recorder returns a recorder that sends events to the API server and aggregates repeated ones.
func (cp *controlPlane) recorder(ctx context.Context) events.EventRecorder {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: cp.kube.events.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		cp.Log.Warn("events are not recorded", "error", err)
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return truncatingRecorder{broadcaster.NewRecorder(cp.client.Scheme(), "anymesh")}
}

// truncatingRecorder truncates the notes of events to maxNoteLength.
type truncatingRecorder struct{ events.EventRecorder }

// Eventf implements events.EventRecorder.
func (f truncatingRecorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	f.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", truncated(fmt.Sprintf(note, args...)))
}

func truncated(text string) string { return truncate.WithEllipsis(text, maxNoteLength) }
