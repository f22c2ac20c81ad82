package inject

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/sidecar"
)

// The API server reinvokes the webhook if other webhooks change the pod.
func TestInjectionIsIdempotent(t *testing.T) {
	w := newWebhook(fakeCluster{workload: front()})
	raw := asJSON(t, plainPod)
	once := admitted(t, raw, w.Handle(t.Context(), request(raw)))
	for _, uid := range []string{"6f1d", "another"} {
		r := request(once)
		r.UID = types.UID(uid)
		if again := w.Handle(t.Context(), r); len(again.Patches) != 0 || !again.Allowed {
			t.Errorf("second request with UID %s: %v", uid, again)
		}
	}
}

func TestDryRunResponseIsEqual(t *testing.T) {
	w := newWebhook(fakeCluster{workload: front()})
	raw := asJSON(t, plainPod)
	real, dry := request(raw), request(raw)
	dry.DryRun = new(true)
	a, b := admitted(t, raw, w.Handle(t.Context(), real)), admitted(t, raw, w.Handle(t.Context(), dry))
	if !bytes.Equal(a, b) {
		t.Errorf("got\n%s\nfor a dry run\n%s", a, b)
	}
}

// The API server may be newer and have more fields.
func TestUnknownFieldsAreKept(t *testing.T) {
	raw := asJSON(t, `
apiVersion: v1
kind: Pod
metadata: {name: front-1, new: {deep: [1, 2]}, labels: null, annotations: {a: b}}
spec:
  new: 1
  volumes: []
  initContainers: [{name: helper, new: 2, restartPolicy: Always, readinessProbe: {tcpSocket: {port: 8080}, new: 3}}]
  containers: [{name: app, image: "app:1", new: 4, livenessProbe: {httpGet: {path: /, port: 8080, new: 5}}}]
status: null
`)
	out := admitted(t, raw, newWebhook(fakeCluster{workload: front()}).Handle(t.Context(), request(raw)))
	var pod struct {
		Metadata struct {
			New struct{ Deep []int }
		}
		Spec struct {
			New                        int
			InitContainers, Containers []struct {
				Name           string
				New            int
				ReadinessProbe struct{ New int }
			}
		}
	}
	if err := json.Unmarshal(out, &pod); err != nil {
		t.Fatal(err)
	}
	s := pod.Spec
	if len(pod.Metadata.New.Deep) != 2 || s.New != 1 || s.InitContainers[0].New != 2 ||
		s.InitContainers[0].ReadinessProbe.New != 3 || s.Containers[0].New != 4 {
		t.Errorf("fields are missing:\n%s", out)
	}
	if len(s.InitContainers) != 3 {
		t.Errorf("%d init containers", len(s.InitContainers))
	}
}

func TestErrorsNameTheAnnotation(t *testing.T) {
	for key, value := range map[string]string{
		"ports": "80,http", "egressIgnoredPorts": "65536", "egressIgnoredIPs": "10.0.0.300", "cpuRequest": "much", "memoryRequest": "1Gib",
		"cpuLimit": "1 core", "memoryLimit": "lots", "secretMounts": "tls", "volumeMounts": "missing:/x", "sidecarEnv": "A=b=c", "sidecarEnvJson": `{"A": "b"}`,
	} {
		t.Run(key, func(t *testing.T) {
			raw := asJSON(t, plainPod)
			raw = bytes.Replace(raw, []byte(`"metadata":{`),
				[]byte(`"metadata":{"annotations":{`+quoted(t, "appmesh.k8s.aws/"+key)+`:`+quoted(t, value)+`},`), 1)
			r := newWebhook(fakeCluster{workload: front()}).Handle(t.Context(), request(raw))
			if r.Allowed || !strings.Contains(r.Result.Message, "annotation appmesh.k8s.aws/"+key+":") ||
				!strings.Contains(r.Result.Message, "pod front-1") {
				t.Errorf("%q: response %+v", value, r.Result)
			}
		})
	}
	for key, value := range map[string]string{
		"ports": "", "egressIgnoredIPs": " ", "secretMounts": ",", "sidecarEnv": "A=", "sidecarEnvJson": "[]",
	} {
		t.Run(key, func(t *testing.T) {
			raw := bytes.Replace(asJSON(t, plainPod), []byte(`"metadata":{`),
				[]byte(`"metadata":{"annotations":{`+quoted(t, "appmesh.k8s.aws/"+key)+`:`+quoted(t, value)+`},`), 1)
			if r := newWebhook(fakeCluster{workload: front()}).Handle(t.Context(), request(raw)); !r.Allowed {
				t.Errorf("%q is denied: %s", value, r.Result.Message)
			}
		})
	}
}

// With several errors, the response is always the same.
func TestResponseIsDeterministic(t *testing.T) {
	raw := bytes.Replace(asJSON(t, plainPod), []byte(`"metadata":{`),
		[]byte(`"metadata":{"annotations":{"appmesh.k8s.aws/ports":"x","appmesh.k8s.aws/cpuLimit":"x","appmesh.k8s.aws/secretMounts":"x","appmesh.k8s.aws/sidecarEnv":"x"},`), 1)
	w := newWebhook(fakeCluster{workload: front()})
	first := w.Handle(t.Context(), request(raw)).Result.Message
	for range 20 {
		if again := w.Handle(t.Context(), request(raw)).Result.Message; again != first {
			t.Fatalf("first %q, then %q", first, again)
		}
	}
}

func TestSelectionErrorIsReturned(t *testing.T) {
	raw := asJSON(t, plainPod)
	r := newWebhook(fakeCluster{
		err: errors.New("found multiple matching VirtualNodes for pod a/front-1: x,y"),
	}).Handle(t.Context(), request(raw))
	if r.Allowed || !strings.Contains(r.Result.Message, "x,y") {
		t.Errorf("%+v", r)
	}
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// review returns the request body of the API server.
func review(t testing.TB, object []byte) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{
			"uid": "6f1d", "namespace": "a", "operation": "CREATE", "object": json.RawMessage(object),
			"kind": map[string]any{"version": "v1", "kind": "Pod"}, "resource": map[string]any{"version": "v1", "resource": "pods"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func post(t testing.TB, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/mutate-v1-pod",
		bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	(&admission.Webhook{Handler: newWebhook(fakeCluster{workload: front()})}).ServeHTTP(recorder, request)
	return recorder
}

// FuzzWebhook sends any request body. There is always a response, and a denial has a message.
func FuzzWebhook(f *testing.F) {
	good := review(f, asJSON(f, plainPod))
	f.Add(good)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"request": {"uid": "x", "object": null}}`))
	f.Add(bytes.Replace(good, []byte(`"spec":{`), []byte(`"spec":{"hostNetwork":true,"spec":{},`), 1))
	f.Add(bytes.Replace(good, []byte(`"app"`), []byte(`"\ud800"`), 1))
	f.Fuzz(func(t *testing.T, body []byte) {
		recorder := post(t, body)
		var got admissionv1.AdmissionReview
		if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || got.Response == nil {
			t.Fatalf("status %d, no response: %v\n%s", recorder.Code, err, recorder.Body)
		}
		if !got.Response.Allowed && (got.Response.Result == nil || got.Response.Result.Message == "") {
			t.Error("a denial without a message")
		}
	})
}

// FuzzPod injects any pod, twice.
func FuzzPod(f *testing.F) {
	for _, text := range []string{
		plainPod, `{metadata: {annotations: {appmesh.k8s.aws/ports: "1,2"}}}`,
		`{spec: {initContainers: [null, {name: proxyinit}], volumes: [null]}}`,
	} {
		f.Add(asJSON(f, text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var object map[string]any
		if json.Unmarshal(raw, &object) != nil || object == nil {
			return
		}
		r := newWebhook(fakeCluster{workload: front()}).Handle(t.Context(), request(raw))
		if !r.Allowed {
			return
		}
		out := admitted(t, raw, r)
		if len(r.Patches) == 0 {
			return
		}
		if again := newWebhook(fakeCluster{workload: front()}).Handle(t.Context(), request(out)); len(again.Patches) != 0 {
			text, _ := yaml.JSONToYAML(out)
			t.Errorf("a second request changes\n%s\nby %v", text, again.Patches)
		}
	})
}

func TestAdmissionReviewsOverHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		allowed bool
	}{
		"pod":                   {string(review(t, asJSON(t, plainPod))), true},
		"empty body":            {"", false},
		"not JSON":              {"<html>", false},
		"no request":            {`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`, false},
		"other kind":            {`{"apiVersion": "v1", "kind": "Pod"}`, false},
		"no object":             {strings.Replace(string(review(t, []byte("null"))), `"object":null,`, "", 1), false},
		"null":                  {string(review(t, []byte("null"))), false},
		"list":                  {string(review(t, []byte("[]"))), false},
		"wrong type of a field": {string(review(t, []byte(`{"spec": {"containers": "none"}}`))), false},
		"deep nesting":          {string(review(t, []byte(`{"spec": {"new": `+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}}`))), true},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := post(t, []byte(c.body))
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || got.Response == nil {
				t.Errorf("no response: %v: %s", err, recorder.Body)
				return
			}
			if got.Response.Allowed != c.allowed {
				t.Errorf("allowed %v: %+v", got.Response.Allowed, got.Response.Result)
			}
		})
	}
}

// A driver without an option for configuration files refuses pods that have some.
func TestConfigFilesNeedADriverWithTheOption(t *testing.T) {
	pod := asJSON(t, `
apiVersion: v1
kind: Pod
metadata:
  name: front-1
  annotations:
    anymesh.dev/sidecarClass: third
    appmesh.k8s.aws/sidecarEnv: ENVOY_STATS_CONFIG_FILE=/config/stats.yaml
spec: {containers: [{name: app, image: "app:1"}]}
`)
	w := newWebhook(fakeCluster{workload: front()})
	w.Mesh.Sidecar.SidecarDrivers = append(w.Mesh.Sidecar.SidecarDrivers,
		sidecar.DriverSettings{SidecarName: "third", SidecarImage: "third:1"})
	response := w.Handle(t.Context(), request(pod))
	const want = "driver third does not support configuration files of the pod: /config/stats.yaml"
	if response.Allowed || !strings.Contains(response.Result.Message, want) {
		t.Errorf("got %t %v, want %q", response.Allowed, response.Result, want)
	}
}
