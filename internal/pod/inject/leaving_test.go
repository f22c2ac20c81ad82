package inject

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
)

// A pod that only an object which is being deleted selects is refused with its name, if injection is enabled.
func TestPodsOfDeletedObjects(t *testing.T) {
	for label, denied := range map[string]bool{"enabled": true, "other": false} {
		w := newWebhook(fakeCluster{
			labels: map[string]string{"appmesh.k8s.aws/sidecarInjectorWebhook": label},
			err:    &dialect.LeavingError{Text: "VirtualNode a/x is being deleted"},
		})
		response := w.Handle(t.Context(), request(asJSON(t, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: app}]}}`)))
		if response.Allowed == denied || denied && !strings.Contains(response.Result.Message, "a/x is being deleted") ||
			denied && strings.Contains(response.Result.Message, "no matching") {
			t.Errorf("%s: got %+v", label, response.AdmissionResponse)
		}
	}
}
