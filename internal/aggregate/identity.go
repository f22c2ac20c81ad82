package aggregate

import (
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
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
			if p = strings.TrimSpace(p); !strings.HasPrefix(p, "base64url.bearer.authorization.k8s.io.") {
				kept = append(kept, p)
			}
		}
		h.Set("Sec-Websocket-Protocol", strings.Join(kept, ", "))
	}
}

// impersonation returns a header of a client that asks for another identity, or "". Such a request must not be answered
// as the client itself: kubectl auth can-i --as would show the rights of the wrong user.
func impersonation(h http.Header) string {
	for name := range h {
		if strings.HasPrefix(strings.ToLower(name), "impersonate-") {
			return name
		}
	}
	return ""
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
