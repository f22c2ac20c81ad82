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

// SigningPath is the one URL of the signing endpoint.
const SigningPath = "/v1/certificates"

// ErrUnauthenticated marks a token that proves nothing; ErrDenied a good token
// of someone who may not have a certificate.
var (
	ErrUnauthenticated = errors.New("unauthenticated")
	ErrDenied          = errors.New("denied")
)

// Verifier turns a bearer token into proven claims. An error that is neither
// ErrUnauthenticated nor ErrDenied means that it could not find out.
type Verifier interface {
	Verify(ctx context.Context, token string) (Claims, error)
}

// HandlerOptions tune the signing endpoint. A zero field has the given default.
type HandlerOptions struct {
	Lifetime        time.Duration         // of certificates; DefaultLifetime
	SourcePerSecond float64               // requests of one source address, sustained; 5
	SourceBurst     int                   // requests of one source address at once; 50
	PodPerSecond    float64               // certificates of one pod, sustained; four in a Lifetime, 0.1 at least
	PodBurst        int                   // certificates of one pod at once; 10
	InFlight        int                   // requests worked on at once, the rest is sent away; 64
	Registerer      prometheus.Registerer // where the metrics go; nowhere
	Logger          *slog.Logger          // slog.Default()
}

func (o *HandlerOptions) setDefaults() {
	setDefault(&o.Lifetime, DefaultLifetime)
	setDefault(&o.SourcePerSecond, 5)
	setDefault(&o.SourceBurst, 50)
	setDefault(&o.PodPerSecond, max(0.1, 4/o.Lifetime.Seconds()))
	setDefault(&o.PodBurst, 10)
	setDefault(&o.InFlight, 64)
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

// answer and failure are the two JSON bodies.
type answer struct {
	Certificate string    `json:"certificate"` // PEM chain, leaf first
	Roots       string    `json:"roots"`       // PEM
	Expires     time.Time `json:"expires"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`

	status int
	reason Reason // the code, unless there is something more exact
}

func (f *failure) Error() string { return f.Code + ": " + f.Message }

// readTimeout bounds how long a sender may take over its small body.
const readTimeout = 10 * time.Second

type handler struct {
	authority Authority
	verifier  Verifier
	opts      HandlerOptions
	sources   *limiter
	pods      *limiter
	slots     chan struct{}
	requests  *prometheus.CounterVec
	issued    prometheus.Counter
	refused   *prometheus.CounterVec
}

// NewHandler is the signing endpoint, to be served over TLS:
//
//	POST /v1/certificates
//	Authorization: Bearer <projected token>
//	<PEM certificate request, at most MaxRequestSize>
//
// It answers {"certificate","roots","expires"}, or {"code","message"} with a
// 4xx or 5xx status; 429 and 503 carry Retry-After and are worth a retry.
func NewHandler(authority Authority, verifier Verifier, opts HandlerOptions) http.Handler {
	opts.setDefaults()
	now := authority.Current().now
	h := &handler{
		authority: authority, verifier: verifier, opts: opts,
		sources: newLimiter(opts.SourcePerSecond, opts.SourceBurst, now),
		pods:    newLimiter(opts.PodPerSecond, opts.PodBurst, now),
		slots:   make(chan struct{}, opts.InFlight),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_identity_requests_total",
			Help: "Requests to the signing endpoint, by result code.",
		}, []string{"code"}),
		issued: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "anymesh_identity_issued_total", Help: "Certificates issued to workloads.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "anymesh_identity_refused_total", Help: "Requests to the signing endpoint that got no certificate, by reason.",
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
		h.write(w, http.StatusOK, answer{
			Certificate: string(issued.CertificatePEM), Roots: string(issued.RootsPEM), Expires: issued.NotAfter,
		})
		return
	}
	var f *failure
	if !errors.As(err, &f) {
		f = fail(http.StatusInternalServerError, "Internal", "the certificate could not be made")
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
		h.opts.Logger.Debug("answer not delivered", "error", err)
	}
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) (*Issued, error) {
	if r.URL.Path != SigningPath {
		return nil, fail(http.StatusNotFound, "NotFound", "the only path is "+SigningPath)
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, fail(http.StatusMethodNotAllowed, "MethodNotAllowed", "use POST")
	}
	if !h.sources.allow(sourceOf(r.RemoteAddr)) {
		return nil, fail(http.StatusTooManyRequests, "TooManyRequests", "too many requests from this address")
	}
	token, ok := bearer(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return nil, failFor(TokenMissing, http.StatusUnauthorized, "Unauthenticated", "send the projected token as Authorization: Bearer")
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return nil, fail(http.StatusServiceUnavailable, "Unavailable", "too many requests at once")
	}
	// Not every ResponseWriter can; the server's own timeouts stand behind this one.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
	csr, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxRequestSize))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, fail(http.StatusRequestEntityTooLarge, "TooLarge", fmt.Sprintf("the certificate request is over %d bytes", MaxRequestSize))
		}
		return nil, fail(http.StatusBadRequest, "InvalidRequest", "the body could not be read")
	}
	return h.issue(r.Context(), token, csr)
}

func (h *handler) issue(ctx context.Context, token string, csr []byte) (*Issued, error) {
	claims, err := h.verifier.Verify(ctx, token)
	var why Reason
	if r := new(refusal); errors.As(err, &r) {
		why = r.reason
	}
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return nil, failFor(why, http.StatusUnauthorized, "Unauthenticated", err.Error())
	case errors.Is(err, ErrDenied):
		return nil, failFor(why, http.StatusForbidden, "PermissionDenied", err.Error())
	case err != nil:
		h.opts.Logger.Warn("token not verified", "error", err)
		return nil, fail(http.StatusServiceUnavailable, "Unavailable", "the cluster could not be asked about the token")
	}
	if !h.pods.allow(claims.PodUID) {
		return nil, fail(http.StatusTooManyRequests, "TooManyRequests", "too many certificates for pod "+claims.Namespace+"/"+claims.Pod)
	}
	issued, err := h.authority.Current().Sign(csr, claims, h.opts.Lifetime)
	if errors.Is(err, ErrRequest) {
		return nil, fail(http.StatusBadRequest, "InvalidRequest", err.Error())
	}
	if err != nil {
		return nil, err
	}
	h.opts.Logger.Debug("certificate issued", "namespace", claims.Namespace, "pod", claims.Pod,
		"serviceAccount", claims.ServiceAccount, "serial", issued.Serial, "notAfter", issued.NotAfter)
	return issued, nil
}

func fail(status int, code, message string) *failure { return failFor("", status, code, message) }

func failFor(reason Reason, status int, code, message string) *failure {
	return &failure{Code: code, Message: message, status: status, reason: reason}
}

// bearer accepts exactly one Authorization header; the scheme's case does not matter (RFC 9110 11.1).
func bearer(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
