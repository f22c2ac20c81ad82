package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
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
// JSON, of an unknown version, or incomplete. It limits how many reviews are handled at once, those of API servers
// apart from all others. It counts rejected requests by reason in anymesh_webhook_refused_total. The responses are of
// kind Status, which API servers show to users. isServer reports whether an address is that of an API server; nil for
// none.
func Guard(next http.Handler, isServer func(netip.Addr) bool, registerer prometheus.Registerer) http.Handler {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "anymesh_webhook_refused_total",
		Help: "Webhook requests that were rejected before they were decoded, by reason.",
	}, []string{"reason"})
	registerer.MustRegister(refused)
	for _, reason := range []string{"too_large", "too_deep", "not_utf8", "not_json", "unknown_version", "cut_off", "busy"} {
		refused.WithLabelValues(reason)
	}
	return &guard{next: next, isServer: isServer, refused: refused, others: otherShare(), servers: serverShare()}
}

type guard struct {
	next            http.Handler
	isServer        func(netip.Addr) bool
	refused         *prometheus.CounterVec
	others, servers *share
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	share, source := g.shareOf(r.RemoteAddr)
	own, err := share.begin(source)
	if err != nil {
		g.refuseBusy(w)
		return
	}
	defer own.end()
	body, err := readBody(w, r, own)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		g.refused.WithLabelValues("too_large").Inc()
		refuse(w, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			fmt.Sprintf("the review is larger than %d bytes", MaxBody))
		return
	case errors.Is(err, errBusy):
		g.refuseBusy(w)
		return
	case err != nil:
		g.refused.WithLabelValues("cut_off").Inc()
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "the request body is incomplete: "+err.Error())
		return
	}
	if reason, text := validateBody(body); reason != "" {
		g.refused.WithLabelValues(reason).Inc()
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, text)
		return
	}
	if own.takeDecoded(r.Context(), decodedSize(body)) != nil || own.enter(r.Context()) != nil {
		g.refuseBusy(w)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), reviewKey{}, own))
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.next.ServeHTTP(w, r)
}

// shareOf returns the share of a client, and its address.
func (g *guard) shareOf(remote string) (s *share, source string) {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return g.others, ""
	}
	address := at.Addr().Unmap().WithZone("")
	if g.isServer != nil && g.isServer(address) {
		return g.servers, address.String()
	}
	return g.others, address.String()
}

// readBody reads the body of a review, which counts with the length that the client announces.
func readBody(w http.ResponseWriter, r *http.Request, own *review) ([]byte, error) {
	length := r.ContentLength
	if length < 0 || length > MaxBody {
		length = MaxBody
	}
	if err := own.takeBody(r.Context(), length); err != nil {
		return nil, err
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
}

func (g *guard) refuseBusy(w http.ResponseWriter) {
	g.refused.WithLabelValues("busy").Inc()
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, errBusy.Error())
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

// decodedSize estimates the size of a review in memory while it is evaluated, in bytes.
func decodedSize(body []byte) int64 {
	return int64(len(body)) * 8
}
