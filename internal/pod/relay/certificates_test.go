package relay

import (
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"anymesh.dev/anymesh/sidecar"
)

// reported is a control plane: it sends what it is asked for, and notes what is accepted or rejected.
type reported struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	mutex   sync.Mutex
	answers map[string]string // error messages by resource
	sent    map[string][]string
}

func (c *reported) DeltaAggregatedResources(
	s discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	for {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		if r.TypeUrl != sidecar.CertificateSourceType {
			continue
		}
		c.mutex.Lock()
		for _, name := range c.sent[r.ResponseNonce] {
			c.answers[name] = r.GetErrorDetail().GetMessage()
		}
		for _, name := range r.ResourceNamesUnsubscribe {
			delete(c.answers, name)
		}
		response := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: r.TypeUrl, Nonce: time.Now().String()}
		for _, name := range r.ResourceNamesSubscribe {
			response.Resources = append(response.Resources, &discoveryv3.Resource{Name: name, Version: "1"})
		}
		c.sent[response.Nonce] = r.ResourceNamesSubscribe
		c.mutex.Unlock()
		if len(response.Resources) > 0 {
			if err := s.Send(response); err != nil {
				return err
			}
		}
	}
}

// TestCertificateProblemsAreRejections changes the problems of certificates: the control plane has that of each, and
// the proxy sees no response.
func TestCertificateProblemsAreRejections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, c := grpc.NewServer(), &reported{answers: map[string]string{}, sent: map[string][]string{}}
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, c)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	dial := func() (*grpc.ClientConn, error) {
		return grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	var mutex sync.Mutex
	problems := map[string]string{}
	r := New(dial, "p", slog.New(slog.DiscardHandler))
	r.Certificates = func() map[string]string {
		mutex.Lock()
		defer mutex.Unlock()
		return problems
	}
	socket := filepath.Join(t.TempDir(), "s")
	down, err := Listen(t.Context(), socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.Serve(t.Context(), down) }()
	proxy, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(proxy).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "listener"}); err != nil {
		t.Fatal(err)
	}
	go func() {
		if m, err := stream.Recv(); err == nil {
			t.Errorf("the proxy gets %v", m)
		}
	}()
	for _, want := range []map[string]string{
		{"a": "", "b": "b is broken", "c": "c is missing"}, {"a": "a is missing", "b": "", "c": "c is missing"},
		{"b": "", "c": ""}, {"c": "c is broken"},
	} {
		mutex.Lock()
		problems = want
		mutex.Unlock()
		c.wait(t, want)
	}
}

// wait waits until the control plane has exactly these problems.
func (c *reported) wait(t *testing.T, want map[string]string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c.mutex.Lock()
		same := len(c.answers) == len(want)
		for name, problem := range want {
			got, known := c.answers[name]
			same = same && known && got == problem
		}
		got := c.answers
		c.mutex.Unlock()
		if same {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// TestResponseWithSeveralCertificates checks that those with problems are asked for again, one after the other.
func TestResponseWithSeveralCertificates(t *testing.T) {
	c := &certificates{problems: map[string]string{"a": "x", "b": "", "c": "y"}}
	if problem := c.receive([]string{"a", "b", "c"}); problem != "" || !slices.Equal(c.due, []string{"a", "c"}) {
		t.Errorf("problem %q, due %q", problem, c.due)
	}
	if name := c.next(); name != "a" || c.next() != "" {
		t.Errorf("next is %q, or another one is asked for before its response", name)
	}
	if problem := c.receive([]string{"a"}); problem != "x" || c.next() != "c" {
		t.Errorf("the response of a has problem %q", problem)
	}
}
