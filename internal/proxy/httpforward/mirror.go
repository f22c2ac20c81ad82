package httpforward

import (
	"bytes"
	"io"
	"net"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/object"
)

// maxMirrored limits the copies of requests that are under way at a time. Others are dropped.
const maxMirrored = 1024

// mirrorTimeout limits a copy, in milliseconds.
const mirrorTimeout = 30_000

// copyTo sends copies of a request to clusters, in the background. The request is the text for the endpoint.
func (s *Server) copyTo(clusters []*object.Slot[cluster.Cluster], request []byte, base map[string]any) {
	for _, slot := range clusters {
		c := slot.Get()
		if c == nil || c.Spec.Protocol != "HTTP" {
			continue
		}
		if s.mirrored.Add(1) > maxMirrored {
			s.mirrored.Add(-1)
			s.Stats.MirrorsDropped.Add(1)
			continue
		}
		copied := &conn{
			s: s, client: &noClient{in: bytes.NewReader(bytes.Clone(request))}, base: base,
			mirror: &object.Route{Name: "mirror", Timeouts: config.Timeouts{Request: mirrorTimeout}},
		}
		copied.mirror.SetDestinations(object.Destination{Slot: slot, Weight: 1})
		go func() {
			defer s.mirrored.Add(-1)
			s.run(copied)
		}()
	}
}

// noClient is the client of a copy of a request: its input is the request, and its output is dropped.
type noClient struct{ in io.Reader }

func (n *noClient) Read(p []byte) (int, error)       { return n.in.Read(p) }
func (*noClient) Write(p []byte) (int, error)        { return len(p), nil }
func (*noClient) Close() error                       { return nil }
func (*noClient) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (*noClient) RemoteAddr() net.Addr               { return &net.TCPAddr{} }
func (*noClient) SetDeadline(time.Time) error        { return nil }
func (*noClient) SetReadDeadline(time.Time) error    { return nil }
func (*noClient) SetWriteDeadline(t time.Time) error { return nil }
