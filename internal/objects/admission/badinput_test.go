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

// The tests of this file are named after what they guard against.

const path = "/mutate-appmesh-k8s-aws-v1beta2-virtualnode"

// guarded is what the control plane serves, and what it counts.
func guarded(t testing.TB) (http.Handler, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	return admission.Guard(server(t, false), registry), registry
}

// reviewOf is a review of an object, as JSON, that is created in namespace a.
func reviewOf(version, object string) string {
	return `{"apiVersion": "admission.k8s.io/` + version + `", "kind": "AdmissionReview", "request": {"uid": "7f", "operation": "CREATE", "namespace": "a",
		"kind": {"group": "appmesh.k8s.aws", "version": "v1beta2", "kind": "VirtualNode"}, "object": ` + object + `}}`
}

// answer posts a body. The code is that of HTTP or, within a review, that of the answer; the text is for users.
func answer(t testing.TB, h http.Handler, path, body string) (allowed bool, code int32, text, uid string) {
	t.Helper()
	recorder := post(h, path, []byte(body))
	if recorder.Code != http.StatusOK {
		var status metav1.Status
		if err := json.Unmarshal(recorder.Body.Bytes(), &status); err != nil || status.Kind != "Status" ||
			status.Status != metav1.StatusFailure {
			t.Fatalf("status %d without words: %v: %.200s", recorder.Code, err, recorder.Body)
		}
		return false, int32(recorder.Code), status.Message, ""
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("no answer: %v: %.200s", err, recorder.Body)
	}
	r := review.Response
	if r.Result != nil {
		code, text = r.Result.Code, r.Result.Message
	}
	return r.Allowed, code, text, string(r.UID)
}

func TestBadInput(t *testing.T) {
	const node = `{"metadata": {"name": "x", "namespace": "a"}, "spec": {}}`
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct {
		body string
		code int32
		says string
	}{
		"not JSON":                      {"<html>", 400, "invalid character"},
		"YAML":                          {"kind: AdmissionReview\nrequest: {uid: x}\n", 400, "invalid character"},
		"nothing":                       {"", 400, "unexpected end"},
		"10 MB":                         {reviewOf("v1", `{"spec": {"new": "`+strings.Repeat("x", 10_000_000)+`"}}`), 413, "larger than 7340032 bytes"},
		"10 MB of blanks":               {strings.Repeat(" ", 10_000_000), 413, "larger than 7340032 bytes"},
		"nesting 10k":                   {reviewOf("v1", nested(10_000)), 400, "nested by more than 256 levels"},
		"nesting 10k, never closed":     {strings.Repeat(`[`, 10_000), 400, "nested by more than 256 levels"},
		"unknown version of the review": {reviewOf("v9", node), 400, "v9"},
		"unknown version of the object": {reviewOf("v1", `{"apiVersion": "appmesh.k8s.aws/v1", "kind": "VirtualNode", "metadata": {"name": "x"}}`), 400, "appmesh.k8s.aws/v1"},
		"another kind of object":        {reviewOf("v1", `{"apiVersion": "appmesh.k8s.aws/v1beta2", "kind": "VirtualRouter", "metadata": {"name": "x"}}`), 400, "was sent to the webhook of"},
		"nil object on CREATE":          {reviewOf("v1", `null`), 400, "cannot be read"},
		"an object that is a number":    {reviewOf("v1", `7`), 400, "cannot be read"},
		"duplicate keys":                {reviewOf("v1", `{"metadata": {"name": "x"}, "spec": {"awsName": "a", "awsName": "b"}}`), 400, `duplicate field "spec.awsName"`},
		"duplicate specs":               {reviewOf("v1", `{"metadata": {"name": "x"}, "spec": {"awsName": "a"}, "spec": {}}`), 400, `duplicate field "spec"`},
		"invalid UTF-8":                 {reviewOf("v1", "{\"metadata\": {\"name\": \"\xff\xfe\"}}"), 400, "not UTF-8"},
		"a string where an object is":   {reviewOf("v1", `{"metadata": "x"}`), 400, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"mutate", "validate"} {
				h, _ := guarded(t)
				allowed, code, text, _ := answer(t, h, "/"+verb+"-appmesh-k8s-aws-v1beta2-virtualnode", c.body)
				if allowed || code != c.code || !strings.Contains(text, c.says) || text == "" {
					t.Errorf("%s: allowed %v, %d %q; want %d %q", verb, allowed, code, text, c.code, c.says)
				}
			}
		})
	}
}

// Brackets in strings are no nesting, and what is just below a bound passes.
func TestBodiesBelowLimitsPass(t *testing.T) {
	for name, object := range map[string]string{
		"brackets in strings":     `{"metadata": {"name": "x"}, "spec": {"new": "` + strings.Repeat(`[{\"`, 10_000) + `"}}`,
		"nested below the bound":  `{"metadata": {"name": "x"}, "spec": {"new": ` + strings.Repeat("[", 250) + strings.Repeat("]", 250) + `}}`,
		"6 MB":                    `{"metadata": {"name": "x"}, "spec": {"new": "` + strings.Repeat("x", 6_000_000) + `"}}`,
		"another case is another": `{"metadata": {"name": "x"}, "spec": {"Listeners": 7}}`, // unknown, as it is to the API server
	} {
		h, _ := guarded(t)
		if allowed, code, text, uid := answer(t, h, path, reviewOf("v1", object)); !allowed || uid != "7f" {
			t.Errorf("%s: %d %s, uid %q", name, code, text, uid)
		}
	}
}

func TestRefusalsAreCounted(t *testing.T) {
	h, registry := guarded(t)
	for _, body := range []string{
		strings.Repeat(" ", admission.MaxBody+1), strings.Repeat("[", admission.MaxDepth+1), "\xff",
		reviewOf("v1", "7"), "<html>",
	} {
		answer(t, h, path, body)
	}
	const want = `
# HELP anymesh_webhook_refused_total Requests to webhooks that were refused before they were decoded, by reason.
# TYPE anymesh_webhook_refused_total counter
anymesh_webhook_refused_total{reason="cut_off"} 0
anymesh_webhook_refused_total{reason="not_json"} 1
anymesh_webhook_refused_total{reason="not_utf8"} 1
anymesh_webhook_refused_total{reason="too_deep"} 1
anymesh_webhook_refused_total{reason="too_large"} 1
anymesh_webhook_refused_total{reason="unknown_version"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"anymesh_webhook_refused_total"); err != nil {
		t.Error(err)
	}
}

// TestTimeoutMidBody has a client that stops in the middle: it gets an answer or is cut, and others do not notice.
func TestTimeoutMidBody(t *testing.T) {
	h, registry := guarded(t)
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
			t.Errorf("half a review is answered with %s", response.Status)
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
		t.Errorf("the next review: %v %s", err, body)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(families[0].Metric, func(m *dto.Metric) bool {
		return m.Label[0].GetValue() == "cut_off" && m.Counter.GetValue() == 1
	}) {
		t.Errorf("half a review was not counted: %v", families)
	}
}

// TestWrongUID: the answer carries the uid of the request, whatever that is, so that nobody takes it for the answer to
// another.
func TestWrongUID(t *testing.T) {
	h, _ := guarded(t)
	for _, uid := range []string{"7f", "", "not a uid", strings.Repeat("u", 10_000)} {
		body := strings.Replace(reviewOf("v1", `{"metadata": {"name": "x"}}`), `"uid": "7f"`, `"uid": "`+uid+`"`, 1)
		if _, _, _, got := answer(t, h, path, body); got != uid {
			t.Errorf("request %.20q is answered as %.20q", uid, got)
		}
	}
}

// TestGenerateName: the name is not known yet, so that awsName stays open and does not become "_a" for everyone.
func TestGenerateName(t *testing.T) {
	h, _ := guarded(t)
	for _, kind := range []string{"VirtualNode", "VirtualService", "VirtualRouter"} {
		object := `{kind: ` + kind + `, metadata: {generateName: x-, namespace: a}}`
		response, raw := ask(t, h, "mutate", object, "")
		if got, want := admitted(t, raw, response), string(asJSON(t,
			`{kind: `+kind+`, metadata: {generateName: x-, namespace: a}, spec: {`+ref+`}}`)); !sameJSON(t, got, want) {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
		if response, _ := ask(t, h, "validate", admitted(t, raw, response), ""); !response.Allowed {
			t.Errorf("%s: refused: %s", kind, message(response))
		}
	}
}

// TestDryRunMustNotWrite: the webhooks hold nothing but a reader, so that they cannot; the answer is the same.
func TestDryRunMustNotWrite(t *testing.T) {
	h, _ := guarded(t)
	body := reviewOf("v1", `{"metadata": {"name": "x"}}`)
	real, dry := post(h, path, []byte(body)), post(h, path,
		[]byte(strings.Replace(body, `"uid"`, `"dryRun": true, "uid"`, 1)))
	if !bytes.Equal(real.Body.Bytes(), dry.Body.Bytes()) {
		t.Errorf("really\n%s\ndry\n%s", real.Body, dry.Body)
	}
}

// TestTwoWebhooksRacing asks for the same object many times at once: every answer is the same.
func TestTwoWebhooksRacing(t *testing.T) {
	h, _ := guarded(t)
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

// TestReinvocation: what we have filled in may come back to us on an update, never changed again.
func TestReinvocation(t *testing.T) {
	h, _ := guarded(t)
	for _, object := range []string{
		`{kind: Mesh, metadata: {name: x}}`, `{kind: VirtualNode, metadata: {name: x, namespace: a}}`,
		`{kind: BackendGroup, metadata: {name: x, namespace: a}}`,
	} {
		response, raw := ask(t, h, "mutate", object, "")
		once := admitted(t, raw, response)
		again, _ := ask(t, h, "mutate", once, once)
		if !again.Allowed || len(again.Patch) > 0 {
			t.Errorf("%s: the second time: %s %s", object, again.Patch, message(again))
		}
	}
}

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("no JSON: %s %s", a, b)
	}
	one, _ := json.Marshal(x)
	other, _ := json.Marshal(y)
	return bytes.Equal(one, other)
}

// FuzzGuard posts anything: there is always an answer, and words in it if it is no.
func FuzzGuard(f *testing.F) {
	for _, body := range []string{
		"", "{}", "[[[", `{"apiVersion": "admission.k8s.io/v1", "request": {}}`, "\xff", `"\"{"`, "a: &x [*x]",
		reviewOf("v1", `{"metadata": {"name": "x"}}`),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		h, _ := guarded(t)
		if allowed, _, text, _ := answer(t, h, path, body); !allowed && text == "" {
			t.Error("a refusal does not say why")
		}
	})
}
