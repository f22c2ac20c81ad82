package aggregate

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// removeIdentity removes all headers by which a client could name another identity.
func removeIdentity(h http.Header) {
	for name := range h {
		lower := strings.ToLower(name)
		if lower == "authorization" || strings.HasPrefix(lower, "impersonate-") || strings.HasPrefix(lower, "x-remote-") {
			delete(h, name)
		}
	}
	// A client can send a bearer token as a WebSocket subprotocol, which is not for other servers.
	if protocols := h.Values("Sec-Websocket-Protocol"); len(protocols) > 0 {
		var kept []string
		for _, p := range strings.Split(strings.Join(protocols, ","), ",") {
			if p = strings.TrimSpace(p); !strings.HasPrefix(p, bearerProtocol) {
				kept = append(kept, p)
			}
		}
		h.Set("Sec-Websocket-Protocol", strings.Join(kept, ", "))
	}
}

// statuses encodes the errors of impersonation.
var statuses = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme)
}()

// impersonating calls next with the user of a request: the one that the client asks for with Impersonate headers, as
// kubectl --as does, if the control plane permits it, and else the client.
func (s *Server) impersonating(
	w http.ResponseWriter, r *http.Request, client user.Info,
	next func(http.ResponseWriter, *http.Request, user.Info),
) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		as, _ := request.UserFrom(r.Context())
		next(w, r, as)
	})
	impersonation.WithImpersonation(handler, s.authorizer, statuses).
		ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), client)))
}

// impersonate sets the headers that make an API server act as a user.
func impersonate(h http.Header, u user.Info) {
	removeIdentity(h)
	h.Set("Impersonate-User", u.GetName())
	if uid := u.GetUID(); uid != "" {
		h.Set("Impersonate-Uid", uid)
	}
	for _, group := range u.GetGroups() {
		h.Add("Impersonate-Group", group)
	}
	for key, values := range u.GetExtra() {
		for _, value := range values {
			h.Add("Impersonate-Extra-"+escapeHeader(key), value)
		}
	}
}

// escapeHeader percent-encodes bytes that a header name cannot have.
func escapeHeader(key string) string {
	var out strings.Builder
	for i := range len(key) {
		c := key[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0 {
			out.WriteByte(c)
			continue
		}
		const digits = "0123456789ABCDEF"
		out.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
	}
	return out.String()
}
