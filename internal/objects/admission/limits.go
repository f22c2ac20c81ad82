package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The bounds of what is posted to a webhook. An API server stays far below them: it stores objects of 3 MiB at most, sends the old and
// the new one, and no object that we are asked about is nested by more than a few dozen levels.
const (
	// MaxBody is how large a review may be, in bytes.
	MaxBody = 7 << 20
	// MaxDepth is how deeply it may be nested.
	MaxDepth = 256
)

// Guard refuses requests that no API server makes, before anything is decoded: bodies that are too large, too deep, no UTF-8, no JSON,
// of an unknown version, or that do not come whole. It counts them by reason in anymesh_webhook_refused_total. The answers are of kind Status, which API servers show
// to their users.
func Guard(next http.Handler, registerer prometheus.Registerer) http.Handler {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "anymesh_webhook_refused_total", Help: "Requests to webhooks that were refused before they were decoded, by reason.",
	}, []string{"reason"})
	registerer.MustRegister(refused)
	for _, reason := range []string{"too_large", "too_deep", "not_utf8", "not_json", "unknown_version", "cut_off"} {
		refused.WithLabelValues(reason)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			refused.WithLabelValues("too_large").Inc()
			refuse(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, fmt.Sprintf("the review is larger than %d bytes", MaxBody))
		case err != nil:
			refused.WithLabelValues("cut_off").Inc()
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "the review did not come whole: "+err.Error())
		default:
			if reason, text := validateBody(body); reason != "" {
				refused.WithLabelValues(reason).Inc()
				refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, text)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{ // whoever does not wait for the answer does not want it
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: text,
	})
}

// validateBody gives the reason why a body is not decoded, with words for users, or "". Depth comes first: it is what makes reading dear.
func validateBody(body []byte) (reason, text string) {
	var review metav1.TypeMeta
	switch {
	case !utf8.Valid(body):
		return "not_utf8", "the review is not UTF-8, as JSON has to be"
	case exceedsMaxDepth(body):
		return "too_deep", fmt.Sprintf("the review is nested by more than %d levels", MaxDepth)
	}
	// The decoder behind us would take YAML too, with its aliases.
	if err := json.Unmarshal(body, &review); err != nil {
		return "not_json", "the review cannot be read: " + err.Error()
	}
	switch review.APIVersion {
	case "", admissionv1.SchemeGroupVersion.String(), admissionv1beta1.SchemeGroupVersion.String():
		return "", ""
	}
	return "unknown_version", fmt.Sprintf("%q is no version of AdmissionReview that we know; we know %s", review.APIVersion, admissionv1.SchemeGroupVersion)
}

// exceedsMaxDepth looks at brackets outside of strings only: it need not be right about what is no JSON, which decoding refuses.
func exceedsMaxDepth(text []byte) bool {
	depth, quoted, escaped := 0, false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
