package httpforward

import (
	"errors"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/http1"
)

// The flags of requests without a response of an endpoint: those of Envoy.
const (
	flagNoRoute    = "NR"
	flagRate       = "RL"
	flagOverflow   = "UO"
	flagNoEndpoint = "UH"
	flagNoConnect  = "UF"
	flagNoResponse = "UC"
	flagInvalid    = "UPE"
	flagTimeout    = "UT"
	flagIdle       = "SI"
	flagClient     = "DC"
	flagRetries    = ",URX"
)

// errClient is the error of a client that is gone.
var errClient = errors.New("the client is gone")

func statusOf(err error) int {
	refused, invalid := (*badBody)(nil), (*http1.Error)(nil)
	switch {
	case errors.As(err, &refused):
		return 400
	case errors.Is(err, cluster.ErrNoEndpoint):
		return 503
	case errors.Is(err, errAttempt):
		return 504
	case errors.As(err, &invalid):
		return 502
	}
	return 503 // no connection, or no response
}

// flagOf returns the flag of an error of the last attempt.
func (a *attempt) flagOf(err error) string {
	out := flagNoResponse
	switch status := statusOf(err); {
	case status == 504:
		out = flagTimeout
	case status == 502:
		out = flagInvalid
	case !a.sent && len(a.tried) == 0:
		out = flagNoEndpoint
	case !a.sent:
		out = flagNoConnect
	}
	if a.last && a.route.Retry.Retries() > 0 {
		out += flagRetries
	}
	return out
}

// failed answers a request as fail does, with flags for the access log.
func (c *conn) failed(flags string, status int, content string) bool {
	c.info.flags = flags
	return c.fail(status, content)
}

// ended adds what is known of a request that has ended.
func (c *conn) ended(r *Request) {
	r.Status, r.Trace = c.status, c.span.TraceID()
	r.Address, r.Version, r.Flags = c.info.address, "HTTP/"+c.version(), c.info.flags
	if c.stream {
		r.Version = "HTTP/2"
	}
	if c.status == 0 {
		r.Flags = flagClient
	}
	sent := &c.request
	if c.info.written {
		sent = &http1.Request{}
		if size, err := sent.Parse(c.out[:c.attempt.head], 0, http1.Limits{Head: 1 << 20, Fields: 1000}); size == 0 || err != nil {
			sent = &c.request
		}
	}
	r.SentField = func(name string) (string, bool) { return c.requestField(sent, name) }
	r.ReplyField = func(name string) (string, bool) {
		var reply http1.Response
		if size, err := reply.Parse(c.info.reply, 0, responseLimits); size == 0 || err != nil {
			return "", false
		}
		return fieldOf(reply.Fields, name)
	}
}

// requestField returns a field or a pseudo-header of a request. The name is in lower case.
func (c *conn) requestField(r *http1.Request, name string) (string, bool) {
	switch name {
	case ":method":
		return string(r.Method), true
	case ":path":
		return string(r.Target), true
	case ":authority", "host":
		return string(r.Host), r.Host != nil
	case ":scheme":
		return c.scheme(), true
	}
	return fieldOf(r.Fields, name)
}

// fieldOf returns the values of a field, separated by commas.
func fieldOf(all []http1.Field, name string) (string, bool) {
	var values []string
	for i := range all {
		if strings.EqualFold(text(all[i].Name), name) {
			values = append(values, string(all[i].Value))
		}
	}
	return strings.Join(values, ","), len(values) > 0
}
