package ingress

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Class is the name of the IngressClass of the gateway.
const Class = "anymesh"

// Controller is spec.controller of the IngressClass.
const Controller = "anymesh.dev/gateway"

// NameConflict is the error of the ports in the status of an Ingress whose paths older objects have: it is not served.
const NameConflict = "anymesh.dev/NameConflict"

// ExternalNameFault says why a Service of type ExternalName cannot be a backend.
func ExternalNameFault(service string) string {
	return fmt.Sprintf("Service %s is of type ExternalName, which has no endpoints, and a gateway does not resolve its name",
		service)
}

const (
	// RewritePrefix replaces the path of the Ingress, where it is the prefix of the path of a request. The value begins
	// with "/". With the path "/a" and the value "/x", "/a/b" becomes "/x/b" and "/a" becomes "/x"; with the value "/"
	// they become "/b" and "/". The query is not changed.
	RewritePrefix = "anymesh.dev/rewrite-prefix"
	// RequestHeaders sets headers in requests to the backend, and replaces those of the client with the same name. The
	// value is a JSON object of names and values: {"X-Tenant":"blue"}.
	RequestHeaders = "anymesh.dev/request-headers"
	// ReadTimeout is the longest pause between two reads from the backend, as a duration of Go: "90s", "1m30s". It does
	// not limit how long a response lasts.
	ReadTimeout = "anymesh.dev/read-timeout"
	// SendTimeout is the longest pause between two writes to the backend, as a duration of Go: the time in which the
	// backend accepts nothing of what is sent to it. Requests get status 503 then. It has no effect on backends with
	// HTTP/2.
	SendTimeout = "anymesh.dev/send-timeout"
	// DefaultBackend is a Service in the namespace of the Ingress, as NAME:PORT with the number of a port of the
	// Service. It gets the requests while the backend of the path has no ready endpoint.
	DefaultBackend = "anymesh.dev/default-backend"
)

// HTTP2Protocols are the values of appProtocol of a port of a Service that mean HTTP/2.
var HTTP2Protocols = []string{"kubernetes.io/h2c", "http2", "h2c", "grpc"}

// Service is a port of a Service in the namespace of the Ingress.
type Service struct {
	Name string
	// Port is from 1 to 65535.
	Port int32
}

// String returns the value of DefaultBackend.
func (s Service) String() string { return s.Name + ":" + strconv.Itoa(int(s.Port)) }

// ParseRewritePrefix parses the value of RewritePrefix.
func ParseRewritePrefix(value string) (string, error) {
	if err := CheckPath(value); err != nil {
		return "", wrap(RewritePrefix, err)
	}
	return value, nil
}

// CheckPath returns an error unless the value is an absolute path without query and fragment, in the characters that
// a URL allows.
func CheckPath(value string) error {
	if !strings.HasPrefix(value, "/") {
		return fmt.Errorf(`the path %q has to begin with "/"`, value)
	}
	if strings.ContainsAny(value, "?#") {
		return fmt.Errorf("the path %q has a query or a fragment; remove it", value)
	}
	for _, r := range value {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", r) {
			return fmt.Errorf("the path %q has the character %q; write it in percent-encoding", value, r)
		}
	}
	if _, err := url.PathUnescape(value); err != nil {
		return fmt.Errorf("the path %q: %w", value, err)
	}
	return nil
}

// ParseTimeout parses the value of ReadTimeout or SendTimeout, which is the annotation. It returns a positive
// duration.
func ParseTimeout(annotation, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if err != nil {
		return 0, wrap(annotation, fmt.Errorf(`%q is not a duration; write a number and a unit, such as "90s"`, value))
	}
	if d <= 0 {
		return 0, wrap(annotation, fmt.Errorf("the duration %q is not positive; remove the annotation for no limit of "+
			"its own", value))
	}
	return d, nil
}

// ParseDefaultBackend parses the value of DefaultBackend.
func ParseDefaultBackend(value string) (Service, error) {
	name, port, err := net.SplitHostPort(value)
	if err != nil {
		return Service{}, wrap(DefaultBackend, fmt.Errorf(`%q is not NAME:PORT; write for example "fallback:80"`, value))
	}
	if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
		return Service{}, wrap(DefaultBackend, fmt.Errorf("%q is not the name of a Service: %s", name, errs[0]))
	}
	number, err := strconv.ParseInt(port, 10, 32)
	if err != nil || number < 1 || number > 65535 {
		return Service{}, wrap(DefaultBackend, fmt.Errorf("the port %q is not a number from 1 to 65535", port))
	}
	return Service{Name: name, Port: int32(number)}, nil
}

func wrap(annotation string, err error) error {
	return fmt.Errorf("annotation %s: %w", annotation, err)
}
