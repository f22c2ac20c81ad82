package status

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/truncate"
	"anymesh.dev/anymesh/model"
)

// maxNote is the maximum length of the note of an event in the Kubernetes API, in bytes.
const maxNote = 1024

// recordErrors records an event when the errors of an object without conditions change, after warningDelay: it has no
// other place for them.
func (w *Writer) recordErrors(ref model.ObjectRef, o client.Object, findings []model.Finding) {
	var texts []string
	reason := ""
	for _, f := range findings {
		if f.Severity == model.Error {
			texts = append(texts, strings.TrimPrefix(f.Path+": "+f.Text, ": "))
			if reason == "" {
				reason = string(f.Code)
			}
		}
	}
	slices.Sort(texts)
	text := truncate.WithEllipsis(strings.Join(texts, "; "), maxNote)
	if w.states.wasReported(ref, text) {
		w.pending.remove(ref, "")
		return
	}
	if len(conditions(o)) > 0 {
		return
	}
	if text == "" {
		w.pending.remove(ref, "")
	} else if w.pending.add(ref, ""); !w.pending.takeDue(ref, "") {
		return
	}
	w.states.markReported(ref, text)
	if text == "" {
		w.Recorder.Eventf(o, nil, corev1.EventTypeNormal, "Served", "Reconcile", "no errors")
		return
	}
	w.Recorder.Eventf(o, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", text)
}
