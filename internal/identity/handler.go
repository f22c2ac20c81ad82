package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// SigningPath is the URL path of the signing endpoint.
const SigningPath = "/v1/certificates"

// ErrUnauthenticated means that the token is invalid. ErrDenied means that the token is valid, but does not permit a
// certificate.
var (
	ErrUnauthenticated = errors.New("unauthenticated")
	ErrDenied          = errors.New("denied")
)

// Verifier verifies a bearer token. An error other than ErrUnauthenticated and ErrDenied means that the verification
// failed.
type Verifier interface {
	Verify(ctx context.Context, token string) (Claims, error)
}

// HandlerOptions configures the signing endpoint. A zero field means the given default.
type HandlerOptions struct {
	Lifetime time.Duration // of certificates; DefaultLifetime
	// LifetimeOf returns the lifetime of the certificates of pods in a namespace; 0 means Lifetime. Nil means always.
	LifetimeOf              func(namespace string) time.Duration
	SourceRequestsPerSecond float64 // average rate of requests from one address; 5
	SourceBurst             int     // burst of requests from one address; 50
	// average rate of certificates for one pod; four per Lifetime, at least 0.1
	PodCertificatesPerSecond float64
	PodBurst                 int // burst of certificates for one pod; 10
	// average rate of certificates for one service account; 50
	AccountCertificatesPerSecond float64
	AccountBurst                 int                   // burst of certificates for one service account; 1000
	MaxInFlight                  int                   // concurrent requests; 64
	Registerer                   prometheus.Registerer // registers the metrics; none
	Logger                       *slog.Logger          // slog.Default()
}

func (o *HandlerOptions) setDefaults() {
	setDefault(&o.Lifetime, DefaultLifetime)
	setDefault(&o.SourceRequestsPerSecond, 5)
	setDefault(&o.SourceBurst, 50)
	setDefault(&o.PodCertificatesPerSecond, max(0.1, 4/o.Lifetime.Seconds()))
	setDefault(&o.PodBurst, 10)
	setDefault(&o.AccountCertificatesPerSecond, 50)
	setDefault(&o.AccountBurst, 1000)
	setDefault(&o.MaxInFlight, 64)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// signResponse and errorResponse are the JSON bodies of responses.
type signResponse struct {
	Certificate string    `json:"certificate"` // PEM chain, leaf first
	Roots       string    `json:"roots"`       // PEM
	Expires     time.Time `json:"expires"`
}

type errorResponse struct {
	Code    string `json:"code"`
	Message string `json:"message"`

	status int
	reason Reason // more specific than the code, or empty
}

func (f *errorResponse) Error() string { return f.Code + ": " + f.Message }

// ReadTimeout limits reading the request body.
const ReadTimeout = 10 * time.Second

type handler struct {
	provider CAProvider
	verifier Verifier
	opts     HandlerOptions
	sources  *limiter
	pods     *limiter
	accounts *limiter
	inFlight chan struct{}
	requests *prometheus.CounterVec
	issued   prometheus.Counter
	refused  *prometheus.CounterVec
}

// NewHandler returns the signing endpoint, which must be served over TLS:
//
//	POST /v1/certificates
//	Authorization: Bearer <projected token>
//	<PEM certificate request, at most MaxRequestSize>
//
// The response is {"certificate","roots","expires"}, or {"code","message"} with a 4xx or 5xx status. Responses with
// status 429 and 503 have a Retry-After header.
func NewHandler(authority CAProvider, verifier Verifier, opts HandlerOptions) http.Handler {
	opts.setDefaults()
	now := authority.Current().now
	h := &handler{
		provider: authority, verifier: verifier, opts: opts,
		sources:  newLimiter(opts.SourceRequestsPerSecond, opts.SourceBurst, now),
		pods:     newLimiter(opts.PodCertificatesPerSecond, opts.PodBurst, now),
		accounts: newLimiter(opts.AccountCertificatesPerSecond, opts.AccountBurst, now),
		inFlight: make(chan struct{}, opts.MaxInFlight),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_identity_requests_total",
			Help: "Requests to the signing endpoint, by result code.",
		}, []string{"code"}),
		issued: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "anymesh_identity_issued_total", Help: "Certificates issued to workloads.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_identity_refused_total",
			Help: "Requests to the signing endpoint that got no certificate, by reason.",
		}, []string{"reason"}),
	}
	if opts.Registerer != nil {
		opts.Registerer.MustRegister(h.requests, h.issued, h.refused)
	}
	return h
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	issued, err := h.serve(w, r)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err == nil {
		h.requests.WithLabelValues("OK").Inc()
		h.issued.Inc()
		h.write(w, http.StatusOK, signResponse{
			Certificate: string(issued.CertificatePEM), Roots: string(issued.RootsPEM), Expires: issued.NotAfter,
		})
		return
	}
	var f *errorResponse
	if !errors.As(err, &f) {
		f = newError(http.StatusInternalServerError, "Internal", "the certificate could not be signed")
		h.opts.Logger.Error("certificate not issued", "error", err)
	}
	h.requests.WithLabelValues(f.Code).Inc()
	h.refused.WithLabelValues(string(cmp.Or(f.reason, Reason(f.Code)))).Inc()
	if f.status == http.StatusTooManyRequests || f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	h.write(w, f.status, f)
}

func (h *handler) write(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		h.opts.Logger.Debug("response not delivered", "error", err)
	}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) (*Issued, error) {
	if r.URL.Path != SigningPath {
		return nil, newError(http.StatusNotFound, "NotFound", "the only path is "+SigningPath)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, newError(http.StatusMethodNotAllowed, "MethodNotAllowed", "use POST")
	}
	if !h.sources.allow(sourceKey(r.RemoteAddr)) {
		return nil, newError(http.StatusTooManyRequests, "TooManyRequests", "too many requests from this address")
	}
	token, ok := bearerToken(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return nil, newErrorWithReason(TokenMissing, http.StatusUnauthorized, "Unauthenticated",
			"send the projected token as Authorization: Bearer")
	}
	// Not every ResponseWriter supports it; the timeouts of the server apply in any case.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(ReadTimeout))
	csr, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequestSize))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, newError(http.StatusRequestEntityTooLarge, "TooLarge",
				fmt.Sprintf("the certificate request is over %d bytes", MaxRequestSize))
		}
		return nil, newError(http.StatusBadRequest, "InvalidRequest", "the body could not be read")
	}
	// Only now: a client that sends its request slowly holds no slot.
	select {
	case h.inFlight <- struct{}{}:
		defer func() { <-h.inFlight }()
	default:
		return nil, newError(http.StatusServiceUnavailable, "Unavailable", "too many requests at once")
	}
	return h.issue(r.Context(), token, csr)
}

func (h *handler) issue(ctx context.Context, token string, csr []byte) (*Issued, error) {
	claims, err := h.verifier.Verify(ctx, token)
	var why Reason
	if r := new(verifyError); errors.As(err, &r) {
		why = r.reason
	}
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return nil, newErrorWithReason(why, http.StatusUnauthorized, "Unauthenticated", err.Error())
	case errors.Is(err, ErrDenied):
		return nil, newErrorWithReason(why, http.StatusForbidden, "PermissionDenied", err.Error())
	case err != nil:
		h.opts.Logger.Warn("token not verified", "error", err)
		return nil, newError(http.StatusServiceUnavailable, "Unavailable",
			"the token could not be verified with the API server")
	}
	if !h.pods.allow(claims.PodUID) {
		return nil, newError(http.StatusTooManyRequests, "TooManyRequests",
			"too many certificates for pod "+claims.Namespace+"/"+claims.Pod)
	}
	if account := claims.Namespace + "/" + claims.ServiceAccount; !h.accounts.allow(account) {
		return nil, newError(http.StatusTooManyRequests, "TooManyRequests",
			"too many certificates for service account "+account)
	}
	lifetime := h.opts.Lifetime
	if h.opts.LifetimeOf != nil {
		lifetime = cmp.Or(h.opts.LifetimeOf(claims.Namespace), lifetime)
	}
	issued, err := h.provider.Current().Sign(csr, claims, lifetime)
	if errors.Is(err, ErrRequest) {
		return nil, newError(http.StatusBadRequest, "InvalidRequest", err.Error())
	}
	if err != nil {
		return nil, err
	}
	h.opts.Logger.Debug("certificate issued", "namespace", claims.Namespace, "pod", claims.Pod,
		"serviceAccount", claims.ServiceAccount, "serial", issued.Serial, "notAfter", issued.NotAfter)
	return issued, nil
}

func newError(status int, code, message string) *errorResponse {
	return newErrorWithReason("", status, code, message)
}

func newErrorWithReason(reason Reason, status int, code, message string) *errorResponse {
	return &errorResponse{Code: code, Message: message, status: status, reason: reason}
}

// bearerToken accepts exactly one Authorization header. The scheme is case-insensitive (RFC 9110, 11.1).
func bearerToken(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
