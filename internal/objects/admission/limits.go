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

// The limits of webhook requests. Requests of an API server are far below them: objects have at most 3 MiB, a review
// contains the old and the new object, and the nesting depth is a few dozen levels.
const (
	// MaxBody is the maximum size of a review, in bytes.
	MaxBody = 7 << 20
	// MaxDepth is the maximum nesting depth.
	MaxDepth = 256
)

// Guard rejects invalid requests before they are decoded: bodies that are too large, too deeply nested, not UTF-8, not
// JSON, of an unknown version, or incomplete. It counts them by reason in anymesh_webhook_refused_total. The responses
// are of kind Status, which API servers show to users.
func Guard(next http.Handler, registerer prometheus.Registerer) http.Handler {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "anymesh_webhook_refused_total",
		Help: "Webhook requests that were rejected before they were decoded, by reason.",
	}, []string{"reason"})
	registerer.MustRegister(refused)
	for _, reason := range []string{"too_large", "too_deep", "not_utf8", "not_json", "unknown_version", "cut_off", "busy"} {
		refused.WithLabelValues(reason)
	}
	bodies := newBudget()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, release, err := bodies.read(r, http.MaxBytesReader(w, r.Body, MaxBody))
		defer release()
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			refused.WithLabelValues("too_large").Inc()
			refuse(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
				fmt.Sprintf("the review is larger than %d bytes", MaxBody))
		case errors.Is(err, errBusy):
			refused.WithLabelValues("busy").Inc()
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, err.Error())
		case err != nil:
			refused.WithLabelValues("cut_off").Inc()
			refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest,
				"the request body is incomplete: "+err.Error())
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
	_ = json.NewEncoder(w).Encode(metav1.Status{ // the client may have disconnected
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: text,
	})
}

// validateBody returns the reason and the text of the rejection of a body, or "". It checks the depth first, because
// deep nesting makes decoding expensive.
func validateBody(body []byte) (reason, text string) {
	var review metav1.TypeMeta
	switch {
	case !utf8.Valid(body):
		return "not_utf8", "the review is not valid UTF-8"
	case exceedsMaxDepth(body):
		return "too_deep", fmt.Sprintf("the review is nested more than %d levels deep", MaxDepth)
	}
	// The webhook's decoder would also accept YAML with aliases.
	if err := json.Unmarshal(body, &review); err != nil {
		return "not_json", "the review cannot be decoded: " + err.Error()
	}
	switch review.APIVersion {
	case "", admissionv1.SchemeGroupVersion.String(), admissionv1beta1.SchemeGroupVersion.String():
		return "", ""
	}
	return "unknown_version", fmt.Sprintf("unknown AdmissionReview version %q; supported version: %s",
		review.APIVersion, admissionv1.SchemeGroupVersion)
}

// exceedsMaxDepth counts brackets outside of strings. The result for invalid JSON does not matter, because decoding
// rejects it.
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
