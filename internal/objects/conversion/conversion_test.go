package conversion_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/internal/objects/conversion"
)

func post(t *testing.T, body string) (int, *apiextensionsv1.ConversionResponse) {
	t.Helper()
	handler := conversion.Handler([]dialect.Dialect{osm.Dialect{}}, func(netip.Addr) bool { return false },
		prometheus.NewRegistry())
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest(http.MethodPost, conversion.Path, strings.NewReader(body)))
	var review apiextensionsv1.ConversionReview
	if response.Code == http.StatusOK {
		if err := json.Unmarshal(response.Body.Bytes(), &review); err != nil {
			t.Fatal(err)
		}
	}
	return response.Code, review.Response
}

func review(objects ...string) string {
	return `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {"uid": "1",
		"desiredAPIVersion": "specs.smi-spec.io/v1alpha4", "objects": [` + strings.Join(objects, ",") + `]}}`
}

// The objects of a review are converted in their order, and numbers stay what they are.
func TestObjectsAreConverted(t *testing.T) {
	code, got := post(t, review(`{"apiVersion": "specs.smi-spec.io/v1alpha1", "kind": "HTTPRouteGroup",
		"metadata": {"name": "a", "generation": 12345678901}, "matches": [{"name": "<all>"}]}`,
		`{"apiVersion": "specs.smi-spec.io/v1alpha2", "kind": "TCPRoute", "metadata": {"name": "b"}}`))
	if code != http.StatusOK || got.UID != "1" || got.Result.Status != metav1.StatusSuccess || len(got.ConvertedObjects) != 2 {
		t.Fatalf("status %d, %+v", code, got)
	}
	want := `{"apiVersion":"specs.smi-spec.io/v1alpha4","kind":"HTTPRouteGroup",` +
		`"metadata":{"generation":12345678901,"name":"a"},"spec":{"matches":[{"name":"\u003call\u003e"}]}}`
	if first := strings.TrimSpace(string(got.ConvertedObjects[0].Raw)); first != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
}

// One object that cannot be converted fails the review, with a message that names the kind.
func TestReviewsThatAreWrong(t *testing.T) {
	for name, body := range map[string]string{
		"another kind": review(`{"apiVersion": "specs.smi-spec.io/v1alpha1", "kind": "UDPRoute"}`),
		"no version":   review(`{"apiVersion": "specs.smi-spec.io/v2", "kind": "TCPRoute"}`),
		"no object":    review(`7`),
	} {
		code, got := post(t, body)
		if code != http.StatusOK || got.Result.Status != metav1.StatusFailure || got.Result.Message == "" ||
			len(got.ConvertedObjects) > 0 {
			t.Errorf("%s: status %d, %+v", name, code, got)
		}
	}
	for name, body := range map[string]string{
		"not JSON": "{", "no request": "{}", "too large": review(`"` + strings.Repeat("a", conversion.MaxOtherReviewSize) + `"`),
	} {
		if code, _ := post(t, body); code != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, code)
		}
	}
}
