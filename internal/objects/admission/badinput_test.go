package admission_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/objects/admission"
)

const path = "/mutate-appmesh-k8s-aws-v1beta2-virtualnode"

// guardedServer returns the server with Guard, and its metrics.
func guardedServer(t testing.TB) (http.Handler, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	return admission.Guard(server(t, false), nil, registry), registry
}

// reviewOf returns a review of the creation of an object in namespace a.
func reviewOf(version, object string) string {
	return `{"apiVersion": "admission.k8s.io/` + version + `", "kind": "AdmissionReview", "request": {"uid": "7f", "operation": "CREATE", "namespace": "a",
		"kind": {"group": "appmesh.k8s.aws", "version": "v1beta2", "kind": "VirtualNode"}, "object": ` + object + `}}`
}

// postReview posts a body. code is the HTTP status or, in a review, the code of the response. text is its message.
func postReview(t testing.TB, h http.Handler, path, body string) (allowed bool, code int32, text, uid string) {
	t.Helper()
	recorder := post(h, path, []byte(body))
	if recorder.Code != http.StatusOK {
		var status metav1.Status
		if err := json.Unmarshal(recorder.Body.Bytes(), &status); err != nil || status.Kind != "Status" ||
			status.Status != metav1.StatusFailure {
			t.Fatalf("status %d without message: %v: %.200s", recorder.Code, err, recorder.Body)
		}
		return false, int32(recorder.Code), status.Message, ""
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("no response: %v: %.200s", err, recorder.Body)
	}
	r := review.Response
	if r.Result != nil {
		code, text = r.Result.Code, r.Result.Message
	}
	return r.Allowed, code, text, string(r.UID)
}

func TestInvalidInput(t *testing.T) {
	const node = `{"metadata": {"name": "x", "namespace": "a"}, "spec": {}}`
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct {
		body  string
		code  int32
		fails string
	}{
		"not JSON":                {"<html>", 400, "invalid character"},
		"YAML":                    {"kind: AdmissionReview\nrequest: {uid: x}\n", 400, "invalid character"},
		"empty body":              {"", 400, "unexpected end"},
		"10 MB":                   {reviewOf("v1", `{"spec": {"new": "`+strings.Repeat("x", 10_000_000)+`"}}`), 413, "larger than 3145728 bytes"},
		"many values":             {reviewOf("v1", `{"spec": {"backends": [`+strings.Repeat("{},", 10_000)+`{}]}}`), 400, "more than 8192 values"},
		"10 MB of spaces":         {strings.Repeat(" ", 10_000_000), 413, "larger than 3145728 bytes"},
		"nesting 10k":             {reviewOf("v1", nested(10_000)), 400, "nested more than 256 levels deep"},
		"nesting 10k, not closed": {strings.Repeat(`[`, 10_000), 400, "nested more than 256 levels deep"},
		"unknown review version":  {reviewOf("v9", node), 400, "v9"},
		"unknown object version":  {reviewOf("v1", `{"apiVersion": "appmesh.k8s.aws/v1", "kind": "VirtualNode", "metadata": {"name": "x"}}`), 400, "appmesh.k8s.aws/v1"},
		"object of another kind":  {reviewOf("v1", `{"apiVersion": "appmesh.k8s.aws/v1beta2", "kind": "VirtualRouter", "metadata": {"name": "x"}}`), 400, "but the webhook is for"},
		"nil object on CREATE":    {reviewOf("v1", `null`), 400, "cannot be decoded"},
		"object is a number":      {reviewOf("v1", `7`), 400, "cannot be decoded"},
		"duplicate keys":          {reviewOf("v1", `{"metadata": {"name": "x"}, "spec": {"awsName": "a", "awsName": "b"}}`), 400, `duplicate field "spec.awsName"`},
		"duplicate spec":          {reviewOf("v1", `{"metadata": {"name": "x"}, "spec": {"awsName": "a"}, "spec": {}}`), 400, `duplicate field "spec"`},
		"invalid UTF-8":           {reviewOf("v1", "{\"metadata\": {\"name\": \"\xff\xfe\"}}"), 400, "not valid UTF-8"},
		"metadata is a string":    {reviewOf("v1", `{"metadata": "x"}`), 400, "cannot be decoded"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"mutate", "validate"} {
				h, _ := guardedServer(t)
				allowed, code, text, _ := postReview(t, h, "/"+verb+"-appmesh-k8s-aws-v1beta2-virtualnode", c.body)
				if allowed || code != c.code || !strings.Contains(text, c.fails) || text == "" {
					t.Errorf("%s: got allowed %v, code %d %q; want %d %q", verb, allowed, code, text, c.code, c.fails)
				}
			}
		})
	}
}

// Brackets in strings do not count as nesting.
func TestBodiesBelowLimitsPass(t *testing.T) {
	for name, object := range map[string]string{
		"brackets in strings":    `{"metadata": {"name": "x"}, "spec": {"new": "` + strings.Repeat(`[{\"`, 10_000) + `"}}`,
		"nested below the bound": `{"metadata": {"name": "x"}, "spec": {"new": ` + strings.Repeat("[", 250) + strings.Repeat("]", 250) + `}}`,
		"3 MB":                   `{"metadata": {"name": "x"}, "spec": {"new": "` + strings.Repeat("x", 3_000_000) + `"}}`,
		"case-sensitive field":   `{"metadata": {"name": "x"}, "spec": {"Listeners": 7}}`, // unknown, as for the API server
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := guardedServer(t)
			if allowed, code, text, uid := postReview(t, h, path, reviewOf("v1", object)); !allowed || uid != "7f" {
				t.Errorf("got code %d %s, uid %q", code, text, uid)
			}
		})
	}
}

func TestRejectionsAreCounted(t *testing.T) {
	h, registry := guardedServer(t)
	for _, body := range []string{
		strings.Repeat(" ", admission.MaxBody+1), strings.Repeat("[", admission.MaxDepth+1), "\xff",
		strings.Repeat(",", admission.MaxValues+1),
		reviewOf("v1", "7"), "<html>",
	} {
		postReview(t, h, path, body)
	}
	const want = `
# HELP anymesh_webhook_refused_total Webhook requests that were rejected before they were decoded, by reason.
# TYPE anymesh_webhook_refused_total counter
anymesh_webhook_refused_total{reason="busy"} 0
anymesh_webhook_refused_total{reason="cut_off"} 0
anymesh_webhook_refused_total{reason="not_json"} 1
anymesh_webhook_refused_total{reason="not_utf8"} 1
anymesh_webhook_refused_total{reason="too_deep"} 1
anymesh_webhook_refused_total{reason="too_large"} 1
anymesh_webhook_refused_total{reason="too_many_values"} 1
anymesh_webhook_refused_total{reason="unknown_version"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"anymesh_webhook_refused_total"); err != nil {
		t.Error(err)
	}
}

// A client that does not send the whole body gets an error or is disconnected. Other clients are not affected.
func TestReadTimeout(t *testing.T) {
	h, registry := guardedServer(t)
	s := httptest.NewUnstartedServer(h)
	s.Config.ReadTimeout = 100 * time.Millisecond
	s.Start()
	defer s.Close()
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection,
		"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"kind\":", path)
	if response, err := http.ReadResponse(bufio.NewReader(connection), nil); err == nil {
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("incomplete review: got status %s", response.Status)
		}
		response.Body.Close()
	}
	response, err := http.Post(s.URL+path, "application/json",
		strings.NewReader(reviewOf("v1", `{"metadata": {"name": "x"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || !bytes.Contains(body, []byte(`"allowed":true`)) {
		t.Errorf("next review: got error %v, body %s", err, body)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(families[0].Metric, func(m *dto.Metric) bool {
		return m.Label[0].GetValue() == "cut_off" && m.Counter.GetValue() == 1
	}) {
		t.Errorf("the incomplete review is not counted: %v", families)
	}
}

func TestResponseHasRequestUID(t *testing.T) {
	h, _ := guardedServer(t)
	for _, uid := range []string{"7f", "", "not a uid", strings.Repeat("u", 10_000)} {
		body := strings.Replace(reviewOf("v1", `{"metadata": {"name": "x"}}`), `"uid": "7f"`, `"uid": "`+uid+`"`, 1)
		if _, _, _, got := postReview(t, h, path, body); got != uid {
			t.Errorf("request uid %.20q: got %.20q", uid, got)
		}
	}
}

// With generateName the name is not known yet, so awsName is not set: it would be "_a" for all objects.
func TestGenerateNameHasNoAWSName(t *testing.T) {
	h, _ := guardedServer(t)
	for _, kind := range []string{"VirtualNode", "VirtualService", "VirtualRouter"} {
		object := `{kind: ` + kind + `, metadata: {generateName: x-, namespace: a}}`
		response, raw := review(t, h, "mutate", object, "")
		if got, want := admitted(t, raw, response), string(asJSON(t,
			`{kind: `+kind+`, metadata: {generateName: x-, namespace: a}, spec: {`+ref+`}}`)); !sameJSON(t, got, want) {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
		if response, _ := review(t, h, "validate", admitted(t, raw, response), ""); !response.Allowed {
			t.Errorf("%s: denied: %s", kind, message(response))
		}
	}
}

func TestDryRunHasSameResponse(t *testing.T) {
	h, _ := guardedServer(t)
	body := reviewOf("v1", `{"metadata": {"name": "x"}}`)
	normal, dry := post(h, path, []byte(body)), post(h, path,
		[]byte(strings.Replace(body, `"uid"`, `"dryRun": true, "uid"`, 1)))
	if !bytes.Equal(normal.Body.Bytes(), dry.Body.Bytes()) {
		t.Errorf("normal\n%s\ndry run\n%s", normal.Body, dry.Body)
	}
}

func TestConcurrentReviews(t *testing.T) {
	h, _ := guardedServer(t)
	want := post(h, path, []byte(reviewOf("v1", `{"metadata": {"name": "x"}}`))).Body.String()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if got := post(h, path, []byte(reviewOf("v1", `{"metadata": {"name": "x"}}`))).Body.String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
	all.Wait()
}

// The mutating webhook does not change an object with defaults again.
func TestMutationIsIdempotent(t *testing.T) {
	h, _ := guardedServer(t)
	for _, object := range []string{
		`{kind: Mesh, metadata: {name: x}}`, `{kind: VirtualNode, metadata: {name: x, namespace: a}}`,
		`{kind: BackendGroup, metadata: {name: x, namespace: a}}`,
	} {
		response, raw := review(t, h, "mutate", object, "")
		once := admitted(t, raw, response)
		again, _ := review(t, h, "mutate", once, once)
		if !again.Allowed || len(again.Patch) > 0 {
			t.Errorf("%s: second review: got patch %s, message %s", object, again.Patch, message(again))
		}
	}
}

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("invalid JSON: %s %s", a, b)
	}
	one, _ := json.Marshal(x)
	other, _ := json.Marshal(y)
	return bytes.Equal(one, other)
}

// Any body gets a response, and denials have a message.
func FuzzGuard(f *testing.F) {
	for _, body := range []string{
		"", "{}", "[[[", `{"apiVersion": "admission.k8s.io/v1", "request": {}}`, "\xff", `"\"{"`, "a: &x [*x]",
		reviewOf("v1", `{"metadata": {"name": "x"}}`),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		h, _ := guardedServer(t)
		if allowed, _, text, _ := postReview(t, h, path, body); !allowed && text == "" {
			t.Error("denied without a message")
		}
	})
}
