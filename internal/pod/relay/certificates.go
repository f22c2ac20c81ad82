package relay

import (
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/sidecar"
)

// certificates is what a stream tells the control plane about the certificates of Secrets. It subscribes to a resource
// for each, and rejects the resource while the Secret has a problem. Envoy sees nothing of this.
//
// A rejection is about all resources of a response. So the control plane is asked for one after the other.
type certificates struct {
	problems map[string]string // as of the last poll
	due      []string          // what to ask for
	asked    string            // what the control plane has not sent yet
}

// poll returns the certificates that are not in use any more. Those that are new, or have another problem, are due.
func (c *certificates) poll(now map[string]string) (gone []string) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before, known := c.problems[name]; !known || before != now[name] {
			c.add(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.problems)) {
		if _, still := now[name]; !still {
			gone = append(gone, name)
		}
	}
	c.problems = now
	c.due = slices.DeleteFunc(c.due, func(name string) bool { return slices.Contains(gone, name) })
	c.asked = "" // without a response after an interval, the next one is due
	return gone
}

func (c *certificates) add(name string) {
	if !slices.Contains(c.due, name) {
		c.due = append(c.due, name)
	}
}

// next returns what to ask for now, or "".
func (c *certificates) next() string {
	if c.asked != "" || len(c.due) == 0 {
		return ""
	}
	c.asked, c.due = c.due[0], c.due[1:]
	return c.asked
}

// receive returns the problem with which a response is rejected, or "". Of a response with several certificates, those
// with problems are due again.
func (c *certificates) receive(names []string) (problem string) {
	if slices.Contains(names, c.asked) {
		c.asked = ""
	}
	if len(names) == 1 {
		return c.problems[names[0]]
	}
	for _, name := range names {
		if c.problems[name] != "" {
			c.add(name)
		}
	}
	return ""
}

// pollCertificates reports what changed.
func (s *session) pollCertificates() error {
	if s.Certificates == nil || s.up == nil || !s.begun {
		return nil
	}
	if gone := s.certificates.poll(s.Certificates()); len(gone) > 0 {
		if err := s.encodeUp(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: sidecar.CertificateSourceType, ResourceNamesUnsubscribe: gone,
		}); err != nil {
			return err
		}
	}
	return s.askForCertificate()
}

// askForCertificate asks the control plane for a resource: the answer to its response says whether it has a problem.
func (s *session) askForCertificate() error {
	name := s.certificates.next()
	if name == "" {
		return nil
	}
	return s.encodeUp(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: sidecar.CertificateSourceType, ResourceNamesSubscribe: []string{name},
	})
}

// certificateResponse answers a response of the control plane.
func (s *session) certificateResponse(m []byte) error {
	var r discoveryv3.DeltaDiscoveryResponse
	if err := proto.Unmarshal(m, &r); err != nil {
		return err
	}
	if len(r.RemovedResources) > 0 && slices.Contains(r.RemovedResources, s.certificates.asked) {
		s.certificates.asked = "" // the control plane sends it once it has it
	}
	answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: sidecar.CertificateSourceType, ResponseNonce: r.Nonce}
	var names []string
	for _, resource := range r.Resources {
		names = append(names, resource.Name)
	}
	if problem := s.certificates.receive(names); problem != "" {
		answer.ErrorDetail = &rpcstatus.Status{Code: int32(codes.FailedPrecondition), Message: problem}
	}
	if err := s.encodeUp(answer); err != nil {
		return err
	}
	return s.askForCertificate()
}
