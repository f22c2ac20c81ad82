package admission_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/admission"
)

// server serves the webhooks. Namespace a is in mesh m, namespace b in none, namespace c in two.
func server(t testing.TB, ipv6 bool, more ...client.Object) http.Handler {
	t.Helper()
	return serve(t, admission.Options{Cache: cacheOf(t, more...), IPv6: ipv6})
}

// serve serves the webhooks with options, of which the dialects and the scheme are set.
func serve(t testing.TB, o admission.Options) http.Handler {
	t.Helper()
	o.Dialects, o.Scheme = []dialect.Dialect{appmesh.Dialect{}}, runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(o.Scheme); err != nil {
			t.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	if err := admission.Handle(mux, o); err != nil {
		t.Fatal(err)
	}
	return mux
}

// cacheOf returns an engine with the objects of server.
func cacheOf(t testing.TB, more ...client.Object) *engine.Engine {
	t.Helper()
	selector := func(label string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}}
	}
	namespace := func(name string, labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	objects := []client.Object{
		namespace("a", map[string]string{"m": "yes"}), namespace("b", nil),
		namespace("c", map[string]string{"m": "yes", "n": "yes"}),
		&api.Mesh{
			ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "u-m"}, Spec: api.MeshSpec{NamespaceSelector: selector("m")},
		},
		&api.Mesh{
			ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u-n"}, Spec: api.MeshSpec{NamespaceSelector: selector("n")},
		},
		&api.VirtualGateway{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "gateway", UID: "u-gateway",
		}, Spec: api.VirtualGatewaySpec{
			NamespaceSelector: selector("m"), MeshRef: &api.MeshReference{Name: "m", UID: "u-m"},
		}},
	}
	e := engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{})
	for _, o := range append(objects, more...) {
		e.Set(o)
	}
	e.Sync()
	return e
}

// review posts a review of an object, as YAML, to a webhook of its kind: "mutate" or "validate". old is empty for
// CREATE.
func review(t testing.TB, h http.Handler, verb, object, old string) (admissionv1.AdmissionResponse, []byte) {
	t.Helper()
	raw := asJSON(t, object)
	var o struct {
		Kind     string
		Metadata struct{ Namespace string }
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	request := map[string]any{
		"uid": "1", "kind": map[string]any{"group": api.GroupVersion.Group, "version": "v1beta2", "kind": o.Kind},
		"operation": "CREATE", "namespace": o.Metadata.Namespace, "object": json.RawMessage(raw),
	}
	if old != "" {
		request["operation"], request["oldObject"] = "UPDATE", json.RawMessage(asJSON(t, old))
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
	})
	if err != nil {
		t.Fatal(err)
	}
	recorder := post(h, "/"+verb+"-appmesh-k8s-aws-v1beta2-"+strings.ToLower(o.Kind), body)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("no response: status %d, %v: %s", recorder.Code, err, recorder.Body)
	}
	return *review.Response, raw
}

func post(h http.Handler, path string, body []byte) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder
}

// admitted returns the object with the patch of the response.
func admitted(t testing.TB, raw []byte, response admissionv1.AdmissionResponse) string {
	t.Helper()
	if len(response.Patch) == 0 {
		return string(raw)
	}
	patch, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		t.Fatal(err)
	}
	out, err := patch.Apply(raw)
	if err != nil {
		t.Fatalf("%s does not apply to %s: %v", response.Patch, raw, err)
	}
	return string(out)
}

func asJSON(t testing.TB, text string) []byte {
	t.Helper()
	out, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

func message(r admissionv1.AdmissionResponse) string {
	if r.Result == nil {
		return ""
	}
	return r.Result.Message
}
