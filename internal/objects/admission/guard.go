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

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Guard rejects invalid requests before they are decoded: bodies that are too large, have too many values or levels,
// are not UTF-8, not JSON, of an unknown version, or incomplete. It limits how many reviews are handled at once, those
// of API servers apart from all others. It counts requests in anymesh_webhook_requests_total, and rejected ones by
// reason in anymesh_webhook_refused_total. The responses are of kind Status, which API servers show to users. isServer
// reports whether an address is that of an API server; nil for none.
func Guard(next http.Handler, isServer func(netip.Addr) bool, registerer prometheus.Registerer) http.Handler {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "anymesh_webhook_refused_total",
		Help: "Webhook requests that were rejected before they were decoded, by reason.",
	}, []string{"reason"})
	registerer.MustRegister(refused)
	for _, reason := range []string{"too_large", "too_many_values", "too_deep", "not_utf8", "not_json", "unknown_version", "cut_off", "busy"} {
		refused.WithLabelValues(reason)
	}
	reviews := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "anymesh_webhook_requests_total",
		Help: "Webhook requests by sender: api_server, or other, which has lower limits.",
	}, []string{"sender"})
	registerer.MustRegister(reviews)
	return &guard{
		next: next, isServer: isServer, refused: refused,
		fromOthers: reviews.WithLabelValues("other"), fromServers: reviews.WithLabelValues("api_server"), others: otherShare(), servers: serverShare(),
	}
}

type guard struct {
	next            http.Handler
	isServer        func(netip.Addr) bool
	refused         *prometheus.CounterVec
	others, servers *share

	fromOthers, fromServers prometheus.Counter
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
			fmt.Sprintf("the review is larger than %d bytes%s", share.limits.body, g.hint(share)))
		return
	case errors.Is(err, errBusy):
		g.refuseBusy(w)
		return
	case err != nil:
		g.refused.WithLabelValues("cut_off").Inc()
		refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "the request body is incomplete: "+err.Error())
		return
	}
	shape := shapeOf(body)
	switch {
	case shape.depth > MaxDepth:
		g.refuseInvalid(w, "too_deep", fmt.Sprintf("the review is nested more than %d levels deep", MaxDepth))
		return
	case shape.values > share.limits.values:
		g.refuseInvalid(w, "too_many_values",
			fmt.Sprintf("the review has more than %d values%s", share.limits.values, g.hint(share)))
		return
	}
	own.size = decodedSize(len(body), shape.values)
	if own.enter(r.Context()) != nil {
		g.refuseBusy(w)
		return
	}
	if reason, text := validateBody(body); reason != "" {
		g.refuseInvalid(w, reason, text)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), reviewKey{}, own))
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.next.ServeHTTP(w, r)
}

// shareOf returns the share of a client, which it counts, and its address.
func (g *guard) shareOf(remote string) (s *share, source string) {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		g.fromOthers.Inc()
		return g.others, ""
	}
	address := at.Addr().Unmap().WithZone("")
	if g.isServer != nil && g.isServer(address) {
		g.fromServers.Inc()
		return g.servers, address.String()
	}
	g.fromOthers.Inc()
	return g.others, address.String()
}

// hint says how a client gets the limits of API servers.
func (g *guard) hint(s *share) string {
	if s == g.servers {
		return ""
	}
	return "; the Helm value webhooks.apiServerAddresses has the addresses of API servers, whose limits are higher"
}

// readBody reads the body of a review, which counts with the length that the client announces.
func readBody(w http.ResponseWriter, r *http.Request, own *review) ([]byte, error) {
	length := r.ContentLength
	limit := own.share.limits.body
	switch {
	case length > limit:
		return nil, &http.MaxBytesError{Limit: limit}
	case length < 0:
		length = limit
	}
	if err := own.takeBody(r.Context(), length); err != nil {
		return nil, err
	}
	from := http.MaxBytesReader(w, r.Body, limit)
	if r.ContentLength < 0 {
		return io.ReadAll(from)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(from, body)
	return body, err
}

func (g *guard) refuseInvalid(w http.ResponseWriter, reason, text string) {
	g.refused.WithLabelValues(reason).Inc()
	refuse(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, text)
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
