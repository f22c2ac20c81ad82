package status

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/truncate"
	"anymesh.dev/anymesh/model"
)

// maxNote is the maximum length of the note of an event in the Kubernetes API, in bytes.
const maxNote = 1024

// recordFindings records an event when the errors and warnings of an object without conditions change, after
// warningDelay: it has no other place for them.
func (w *Writer) recordFindings(ref model.ObjectRef, o client.Object, findings []model.Finding) {
	reason, text := noted(findings)
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
		w.Recorder.Eventf(o, nil, corev1.EventTypeNormal, "Served", "Reconcile", "no errors and no warnings")
		return
	}
	w.Recorder.Eventf(o, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", text)
}

// noted returns the reason and the note of an event: errors come first.
func noted(findings []model.Finding) (reason, text string) {
	var texts []string
	for _, severity := range []model.Severity{model.Error, model.Warning} {
		first := len(texts)
		for _, f := range findings {
			if f.Severity == severity {
				texts = append(texts, strings.TrimPrefix(f.Path+": "+f.Text, ": "))
				reason = cmp.Or(reason, string(f.Code))
			}
		}
		slices.Sort(texts[first:])
	}
	return reason, truncate.WithEllipsis(strings.Join(texts, "; "), maxNote)
}
