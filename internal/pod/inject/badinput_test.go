package inject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	crwebhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"anymesh.dev/anymesh/internal/objects/admission"
)

// See testdata for pods with containers named like ours, with host network and of Windows.

// postGuarded sends a request to the webhook with the limits of the control plane.
func postGuarded(t testing.TB, w *Webhook, body string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), "POST", "/mutate-v1-pod", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	admission.Guard(&crwebhook.Webhook{Handler: w}, nil, prometheus.NewRegistry()).ServeHTTP(recorder, request)
	return recorder
}

func TestBadInput(t *testing.T) {
	of := func(object string) string {
		return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "7f", "namespace": "a", "operation": "CREATE", "object": ` + object + `}}`
	}
	for name, c := range map[string]struct{ body, want string }{
		"not JSON":               {"<html>", "invalid character"},
		"10 MB":                  {of(`{"metadata": {"name": "` + strings.Repeat("x", 10_000_000) + `"}}`), "larger than"},
		"nesting 10k":            {of(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)), "nested more than"},
		"unknown review version": {strings.Replace(of(`{}`), "k8s.io/v1", "k8s.io/v9", 1), "admission.k8s.io/v9"},
		"unknown pod version":    {of(`{"apiVersion": "v2", "kind": "Pod"}`), "not a pod"},
		"other kind":             {of(`{"apiVersion": "apps/v1", "kind": "Deployment"}`), "not a pod"},
		"nil object on CREATE":   {of(`null`), "cannot be read"},
		"duplicate keys":         {of(`{"metadata": {"name": "x"}, "spec": {"hostNetwork": true, "hostNetwork": false}}`), `duplicate field "spec.hostNetwork"`},
		"invalid UTF-8":          {of("{\"metadata\": {\"name\": \"\xff\"}}"), "not valid UTF-8"},
		"map instead of a list":  {of(`{"spec": {"containers": {}}}`), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := postGuarded(t, newWebhook(fakeCluster{workload: front()}), c.body)
			if strings.Contains(recorder.Body.String(), `"allowed":true`) ||
				!strings.Contains(strings.ReplaceAll(recorder.Body.String(), `\"`, `"`), c.want) {
				t.Errorf("status %d: %.300s; want %s", recorder.Code, recorder.Body, c.want)
			}
		})
	}
}

// The webhook configuration selects new pods only. Other requests must not be blocked.
func TestOtherOperationsAreAllowed(t *testing.T) {
	for _, operation := range []string{"DELETE", "UPDATE", "CONNECT"} {
		t.Run(operation, func(t *testing.T) {
			body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "7f", "operation": "` + operation + `", "object": null}}`
			var review admissionv1.AdmissionReview
			recorder := postGuarded(t, newWebhook(fakeCluster{workload: front()}), body)
			if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || !review.Response.Allowed ||
				len(review.Response.Patch) > 0 {
				t.Errorf("%v %s", err, recorder.Body)
			}
		})
	}
}

// Ephemeral containers are added to running pods by a subresource, which the webhook does not change. A pod with an
// ephemeral container named like the sidecar gets no sidecar.
func TestEphemeralContainers(t *testing.T) {
	const with = `{metadata: {name: x}, spec: {containers: [{name: app}], ephemeralContainers: [{name: %s}]}}`
	r := request(asJSON(t, fmt.Sprintf(with, "debugger")))
	r.SubResource = "ephemeralcontainers"
	if response := newWebhook(fakeCluster{workload: front()}).Handle(t.Context(), r); !response.Allowed ||
		len(response.Patches) > 0 {
		t.Errorf("the ephemeralcontainers subresource: %+v", response)
	}
	response := newWebhook(fakeCluster{workload: front()}).Handle(t.Context(),
		request(asJSON(t, fmt.Sprintf(with, "envoy"))))
	if response.Allowed || !strings.Contains(response.Result.Message, "a container named envoy") {
		t.Errorf("an ephemeral container named like the sidecar: %+v", response)
	}
}

// The response has the UID of the request, and the UUID of the sidecar is derived from it, whatever its format.
func TestAnyRequestUIDIsAccepted(t *testing.T) {
	for _, uid := range []string{"", "not a uid", strings.Repeat("u", 10_000)} {
		body := bytes.Replace(review(t, asJSON(t, plainPod)), []byte(`"uid":"6f1d"`), []byte(`"uid":"`+uid+`"`), 1)
		var got admissionv1.AdmissionReview
		recorder := postGuarded(t, newWebhook(fakeCluster{workload: front()}), string(body))
		if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || !got.Response.Allowed ||
			got.Response.UID != types.UID(uid) {
			t.Errorf("%.20q: %v %.300s", uid, err, recorder.Body)
		}
	}
}

// The driver gets a client that records its requests.
func TestInjectionDoesNotWriteToCluster(t *testing.T) {
	for _, dry := range []bool{true, false} {
		cluster := fake.NewClientset()
		w := newWebhook(fakeCluster{workload: front()})
		w.KubeClient = cluster
		r := request(asJSON(t, plainPod))
		r.DryRun = &dry
		if response := w.Handle(t.Context(), r); !response.Allowed {
			t.Fatalf("denied: %+v", response)
		}
		for _, action := range cluster.Actions() {
			if verb := action.GetVerb(); verb != "get" && verb != "list" && verb != "watch" {
				t.Errorf("dry run %v: %s %s", dry, verb, action.GetResource())
			}
		}
	}
}

// Two replicas return equal responses to concurrent requests.
func TestReplicasReturnEqualResponses(t *testing.T) {
	replicas := []*Webhook{newWebhook(fakeCluster{workload: front()}), newWebhook(fakeCluster{workload: front()})}
	raw := asJSON(t, plainPod)
	want := admitted(t, raw, replicas[0].Handle(t.Context(), request(raw)))
	responses := make([]crwebhook.Response, 16)
	var all sync.WaitGroup
	for i := range responses {
		all.Go(func() { responses[i] = replicas[i%2].Handle(t.Context(), request(raw)) })
	}
	all.Wait()
	for _, response := range responses {
		if got := admitted(t, raw, response); !bytes.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// Another webhook adds containers after ours, and the API server reinvokes ours.
func TestReinvocationAfterOtherWebhook(t *testing.T) {
	w := newWebhook(fakeCluster{workload: front()})
	raw := asJSON(t, plainPod)
	once := admitted(t, raw, w.Handle(t.Context(), request(raw)))
	var pod map[string]any
	if err := json.Unmarshal(once, &pod); err != nil {
		t.Fatal(err)
	}
	spec := pod["spec"].(map[string]any)
	spec["initContainers"] = append([]any{map[string]any{"name": "other-init"}}, spec["initContainers"].([]any)...)
	spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "other"})
	changed, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	if again := w.Handle(t.Context(), request(changed)); !again.Allowed || len(again.Patches) > 0 {
		t.Errorf("reinvocation: %+v", again)
	}
}
