package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ProbesEnv is the environment variable with the original probes of the application: a JSON object that maps
// "<container>/<livez|readyz|startupz|poststart|prestop>" to Probe.
const ProbesEnv = "ANYMESH_PROBES"

// hookTokenHeader is the request header with the token of a hook, as injection writes it.
const hookTokenHeader = "X-Anymesh-Hook"

// hookKinds are the hooks of a container's lifecycle: probes with a token.
var hookKinds = []string{"poststart", "prestop"}

var probeKinds = append([]string{"livez", "readyz", "startupz"}, hookKinds...)

// Probe is a container probe of the pod spec with exactly one of the three actions. Kubelet handles the other fields,
// such as periods.
type Probe struct {
	HTTPGet        *HTTPGet   `json:"httpGet,omitempty"`
	TCPSocket      *TCPSocket `json:"tcpSocket,omitempty"`
	GRPC           *GRPC      `json:"grpc,omitempty"`
	TimeoutSeconds int        `json:"timeoutSeconds,omitempty"` // 1
	// Token is required of requests for a hook, which only the kubelet may run. Hooks have one, and probes do not.
	Token string `json:"token,omitempty"`
}

// HTTPGet succeeds if the status is 200 to 399.
type HTTPGet struct {
	Path        string   `json:"path,omitempty"` // "/"
	Port        Port     `json:"port"`
	Host        string   `json:"host,omitempty"`   // the pod itself
	Scheme      string   `json:"scheme,omitempty"` // HTTP or HTTPS; HTTP
	HTTPHeaders []Header `json:"httpHeaders,omitempty"`
}

// Header is one request header.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TCPSocket succeeds if the connection is established.
type TCPSocket struct {
	Port Port   `json:"port"`
	Host string `json:"host,omitempty"` // the pod itself
}

// GRPC succeeds if the health service returns SERVING.
type GRPC struct {
	Port    Port   `json:"port"`
	Service string `json:"service,omitempty"`
}

// Port is a port number. In JSON it may be a string of digits. Named ports must be resolved before.
type Port uint16

// UnmarshalJSON implements json.Unmarshaler.
func (p *Port) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("port %s is not a number from 1 to 65535", text)
	}
	*p = Port(n)
	return nil
}

func (p *Probe) check() error {
	n := 0
	var port Port
	if p.HTTPGet != nil {
		n, port = n+1, p.HTTPGet.Port
		if s := p.HTTPGet.Scheme; s != "" && s != "HTTP" && s != "HTTPS" {
			return fmt.Errorf("httpGet.scheme %q is neither HTTP nor HTTPS", s)
		}
	}
	if p.TCPSocket != nil {
		n, port = n+1, p.TCPSocket.Port
	}
	if p.GRPC != nil {
		n, port = n+1, p.GRPC.Port
	}
	if n != 1 {
		return fmt.Errorf("%d of httpGet, tcpSocket and grpc are set; exactly one is required", n)
	}
	if port == 0 {
		return errors.New("the port is missing")
	}
	if p.TimeoutSeconds < 0 {
		return fmt.Errorf("timeoutSeconds %d is negative", p.TimeoutSeconds)
	}
	return nil
}

func (p *Probe) timeout() time.Duration {
	return time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
}

// ParseProbes decodes the value of ProbesEnv. An empty value means no probes.
func ParseProbes(text string) (map[string]Probe, error) {
	probes := map[string]Probe{}
	if text == "" {
		return probes, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if err := d.Decode(&probes); err != nil {
		return nil, fmt.Errorf("%s: %w", ProbesEnv, err)
	}
	if d.More() {
		return nil, fmt.Errorf("%s: text after the JSON object", ProbesEnv)
	}
	for name, p := range probes {
		container, kind, ok := strings.Cut(name, "/")
		if !ok || container == "" || !slices.Contains(probeKinds, kind) {
			return nil, fmt.Errorf("%s: key %q is not <container>/<%s>", ProbesEnv, name, strings.Join(probeKinds, "|"))
		}
		if hook := slices.Contains(hookKinds, kind); hook != (p.Token != "") {
			return nil, fmt.Errorf("%s: %q: hooks have a token, and probes have none", ProbesEnv, name)
		}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", ProbesEnv, name, err)
		}
	}
	return probes, nil
}
