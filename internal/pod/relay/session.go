package relay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/sidecar"
)

const secretType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

// Field numbers of the type URL in DeltaDiscoveryRequest and DeltaDiscoveryResponse.
const (
	requestType  = 2
	responseType = 4
)

// ownNonce begins the nonces of responses of the relay.
const ownNonce = "agent/"

// session is one stream. It is used by one goroutine.
type session struct {
	*Relay
	down grpc.ServerStream
	up   grpc.ClientStream // nil if the control plane is unavailable
	// subscribed are the secrets that Envoy subscribes to, with the version that it has; empty for none.
	subscribed map[string]string
	// problems are the errors to report when Envoy acknowledges a response, by nonce.
	problems map[string]string
	sent     int // responses of the relay
	// begun is set by the first request of Envoy, which names the node.
	begun        bool
	certificates certificates
	// settings is true if the stream subscribes to the log level.
	settings bool
}

// request handles a message of Envoy. After the first one, which names the node, the relay has subscriptions of its
// own.
func (s *session) request(m []byte) error {
	first := !s.begun
	s.begun = true
	if err := s.forward(m); err != nil || !first || !s.settings {
		return err
	}
	return s.askForLogLevel()
}

// forward forwards a message of Envoy.
func (s *session) forward(m []byte) error {
	if typeOf(m, requestType) != secretType {
		return s.sendUp(m)
	}
	var r discoveryv3.DeltaDiscoveryRequest
	if err := proto.Unmarshal(m, &r); err != nil {
		return err
	}
	for _, name := range r.ResourceNamesSubscribe {
		s.subscribed[name] = r.InitialResourceVersions[name]
	}
	for _, name := range r.ResourceNamesUnsubscribe {
		delete(s.subscribed, name)
		s.secrets.forget(name)
	}
	reconnected := len(r.InitialResourceVersions) > 0
	for name, version := range r.InitialResourceVersions {
		r.InitialResourceVersions[name], _, _ = strings.Cut(version, contentSeparator)
		if s.secrets.problem(name) != "" { // the control plane sends it again, and is told the problem
			delete(r.InitialResourceVersions, name)
		}
	}
	if strings.HasPrefix(r.ResponseNonce, ownNonce) {
		if r.ErrorDetail != nil {
			s.log.Warn("the proxy rejects a certificate; it keeps the last one", "error", r.ErrorDetail.Message)
		}
		r.ResponseNonce, r.ErrorDetail = "", nil
		if len(r.ResourceNamesSubscribe)+len(r.ResourceNamesUnsubscribe) == 0 {
			return nil
		}
	} else if problem := s.problems[r.ResponseNonce]; problem != "" {
		delete(s.problems, r.ResponseNonce)
		if r.ErrorDetail == nil {
			r.ErrorDetail = &rpcstatus.Status{Code: int32(codes.FailedPrecondition), Message: problem}
		}
	}
	if err := s.encodeUp(&r); err != nil {
		return err
	}
	if reconnected { // files may have changed while there was no stream
		return s.poll()
	}
	return nil
}

// response handles a message of the control plane.
func (s *session) response(m []byte) error {
	switch typeOf(m, responseType) {
	case secretType:
	case sidecar.CertificateSourceType:
		return s.certificateResponse(m)
	case sidecar.SettingType:
		return s.settingResponse(m)
	default:
		return s.down.SendMsg(&m)
	}
	var r discoveryv3.DeltaDiscoveryResponse
	if err := proto.Unmarshal(m, &r); err != nil {
		return err
	}
	var problems, failed []string
	named := len(r.Resources)
	out := r.Resources[:0]
	for _, resource := range r.Resources {
		full, problem, err := s.secrets.define(resource)
		if err != nil {
			return err
		}
		if problem != "" {
			problems = append(problems, problem)
			failed = append(failed, resource.Name)
		}
		if full != nil {
			s.subscribed[resource.Name] = full.Version
			out = append(out, full)
		} else if !s.started.Load() {
			// Envoy stops to wait for the secret. It accepts it later.
			r.RemovedResources = append(r.RemovedResources, resource.Name)
		}
	}
	r.Resources = out
	if len(failed) == named && named > 0 {
		slices.Sort(problems)
		s.problems[r.Nonce] = fmt.Sprintf("pod %s: %s", s.pod, strings.Join(slices.Compact(problems), "; "))
		failed = nil
	}
	if err := s.encodeDown(&r); err != nil {
		return err
	}
	return s.reportAgain(failed)
}

// poll sends the secrets whose files changed, and reports the certificates of Secrets whose problems changed.
func (s *session) poll() error {
	if err := s.pollCertificates(); err != nil {
		return err
	}
	changed := s.secrets.poll(maps.Keys(s.subscribed))
	if err := s.sendChanged(); err != nil {
		return err
	}
	return s.reportAgain(changed)
}

// sendChanged sends the secrets that Envoy has in another version.
func (s *session) sendChanged() error {
	r := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: secretType}
	for _, name := range slices.Sorted(maps.Keys(s.subscribed)) {
		if full := s.secrets.resource(name); full != nil && full.Version != s.subscribed[name] {
			s.subscribed[name] = full.Version
			r.Resources = append(r.Resources, full)
		}
	}
	if len(r.Resources) == 0 {
		return nil
	}
	s.sent++
	r.Nonce = ownNonce + strconv.Itoa(s.sent)
	return s.encodeDown(r)
}

// reportAgain asks the control plane for secrets again: the answer to its response says whether their files are valid.
func (s *session) reportAgain(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return s.encodeUp(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: secretType, ResourceNamesSubscribe: names})
}

func (s *session) encodeUp(r *discoveryv3.DeltaDiscoveryRequest) error {
	m, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	return s.sendUp(m)
}

func (s *session) encodeDown(r *discoveryv3.DeltaDiscoveryResponse) error {
	m, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	return s.down.SendMsg(&m)
}

// sendUp sends a message to the control plane. The error of a stream that ended is that of its end.
func (s *session) sendUp(m []byte) error {
	if s.up != nil {
		_ = s.up.SendMsg(&m)
	}
	return nil
}

// typeOf returns the field with the type URL of a message, or "".
func typeOf(m []byte, field protowire.Number) string {
	for len(m) > 0 {
		number, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			return ""
		}
		m = m[n:]
		if number == field && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(m)
			return string(value)
		}
		if n = protowire.ConsumeFieldValue(number, kind, m); n < 0 {
			return ""
		}
		m = m[n:]
	}
	return ""
}
