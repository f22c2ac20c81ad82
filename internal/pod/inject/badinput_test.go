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

// The tests of this file are named after what they guard against. Own containers of our name, the host's network and
// Windows are in testdata.

// postGuarded asks the webhook as the control plane serves it.
func postGuarded(t testing.TB, w *Webhook, body string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), "POST", "/mutate-v1-pod", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	admission.Guard(&crwebhook.Webhook{Handler: w}, prometheus.NewRegistry()).ServeHTTP(recorder, request)
	return recorder
}

func TestBadInput(t *testing.T) {
	of := func(object string) string {
		return `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "7f", "namespace": "a", "operation": "CREATE", "object": ` + object + `}}`
	}
	for name, c := range map[string]struct{ body, says string }{
		"not JSON":                      {"<html>", "invalid character"},
		"10 MB":                         {of(`{"metadata": {"name": "` + strings.Repeat("x", 10_000_000) + `"}}`), "larger than"},
		"nesting 10k":                   {of(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)), "nested by more than"},
		"unknown version of the review": {strings.Replace(of(`{}`), "k8s.io/v1", "k8s.io/v9", 1), "admission.k8s.io/v9"},
		"unknown version of the object": {of(`{"apiVersion": "v2", "kind": "Pod"}`), "no pod"},
		"another kind of object":        {of(`{"apiVersion": "apps/v1", "kind": "Deployment"}`), "no pod"},
		"nil object on CREATE":          {of(`null`), "cannot be read"},
		"duplicate keys":                {of(`{"metadata": {"name": "x"}, "spec": {"hostNetwork": true, "hostNetwork": false}}`), `duplicate field "spec.hostNetwork"`},
		"invalid UTF-8":                 {of("{\"metadata\": {\"name\": \"\xff\"}}"), "not UTF-8"},
		"containers that are a map":     {of(`{"spec": {"containers": {}}}`), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := postGuarded(t, newWebhook(fakeCluster{workload: front()}), c.body)
			if strings.Contains(recorder.Body.String(), `"allowed":true`) ||
				!strings.Contains(strings.ReplaceAll(recorder.Body.String(), `\"`, `"`), c.says) {
				t.Errorf("status %d: %.300s; want %s", recorder.Code, recorder.Body, c.says)
			}
		})
	}
}

// TestNilObjectOnDelete: nobody asks us about other things than new pods; whoever does is not kept from them.
func TestNilObjectOnDelete(t *testing.T) {
	for _, operation := range []string{"DELETE", "UPDATE", "CONNECT"} {
		body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "7f", "operation": "` + operation + `", "object": null}}`
		var review admissionv1.AdmissionReview
		recorder := postGuarded(t, newWebhook(fakeCluster{workload: front()}), body)
		if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || !review.Response.Allowed ||
			len(review.Response.Patch) > 0 {
			t.Errorf("%s: %v %s", operation, err, recorder.Body)
		}
	}
}

// TestEphemeralContainers come to pods that run, by a subresource: they are left alone, and a pod that has one of our
// name gets no sidecar.
func TestEphemeralContainers(t *testing.T) {
	const with = `{metadata: {name: x}, spec: {containers: [{name: app}], ephemeralContainers: [{name: %s}]}}`
	r := request(asJSON(t, fmt.Sprintf(with, "debugger")))
	r.SubResource = "ephemeralcontainers"
	if answer := newWebhook(fakeCluster{workload: front()}).Handle(t.Context(), r); !answer.Allowed ||
		len(answer.Patches) > 0 {
		t.Errorf("a debugger: %+v", answer)
	}
	answer := newWebhook(fakeCluster{workload: front()}).Handle(t.Context(),
		request(asJSON(t, fmt.Sprintf(with, "envoy"))))
	if answer.Allowed || !strings.Contains(answer.Result.Message, "is called envoy") {
		t.Errorf("a container of our name: %+v", answer)
	}
}

// TestWrongUID: the answer carries the uid of the request, and the sidecar's uuid follows from it, whatever it is.
func TestWrongUID(t *testing.T) {
	for _, uid := range []string{"", "not a uid", strings.Repeat("u", 10_000)} {
		body := bytes.Replace(review(t, asJSON(t, plain)), []byte(`"uid":"6f1d"`), []byte(`"uid":"`+uid+`"`), 1)
		var got admissionv1.AdmissionReview
		recorder := postGuarded(t, newWebhook(fakeCluster{workload: front()}), string(body))
		if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || !got.Response.Allowed ||
			got.Response.UID != types.UID(uid) {
			t.Errorf("%.20q: %v %.300s", uid, err, recorder.Body)
		}
	}
}

// TestDryRunMustNotWrite gives the driver a client that notes what is asked of it.
func TestDryRunMustNotWrite(t *testing.T) {
	for _, dry := range []bool{true, false} {
		cluster := fake.NewClientset()
		w := newWebhook(fakeCluster{workload: front()})
		w.KubeClient = cluster
		r := request(asJSON(t, plain))
		r.DryRun = &dry
		if answer := w.Handle(t.Context(), r); !answer.Allowed {
			t.Fatalf("refused: %+v", answer)
		}
		for _, action := range cluster.Actions() {
			if verb := action.GetVerb(); verb != "get" && verb != "list" && verb != "watch" {
				t.Errorf("dry run %v: %s %s", dry, verb, action.GetResource())
			}
		}
	}
}

// TestTwoWebhooksRacing asks two replicas for the same pod many times at once: every answer is the same.
func TestTwoWebhooksRacing(t *testing.T) {
	replicas := []*Webhook{newWebhook(fakeCluster{workload: front()}), newWebhook(fakeCluster{workload: front()})}
	raw := asJSON(t, plain)
	want := admitted(t, raw, replicas[0].Handle(t.Context(), request(raw)))
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if got := admitted(t, raw, replicas[i%2].Handle(t.Context(), request(raw))); !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	all.Wait()
}

// TestReinvocationAfterOthers: another webhook adds containers of its own after us, and we are asked again.
func TestReinvocationAfterOthers(t *testing.T) {
	w := newWebhook(fakeCluster{workload: front()})
	raw := asJSON(t, plain)
	once := admitted(t, raw, w.Handle(t.Context(), request(raw)))
	var pod map[string]any
	if err := json.Unmarshal(once, &pod); err != nil {
		t.Fatal(err)
	}
	spec := pod["spec"].(map[string]any)
	spec["initContainers"] = append([]any{map[string]any{"name": "theirs"}}, spec["initContainers"].([]any)...)
	spec["containers"] = append(spec["containers"].([]any), map[string]any{"name": "also-theirs"})
	changed, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	if again := w.Handle(t.Context(), request(changed)); !again.Allowed || len(again.Patches) > 0 {
		t.Errorf("the second time: %+v", again)
	}
}
