package agent

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	datadnsv3 "github.com/envoyproxy/go-control-plane/envoy/data/dns/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	miekg "github.com/miekg/dns"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/freeport"
)

// namesServer is an xDS server that sends the responses of a channel to its client, and records the first requests and
// the acknowledged nonces.
type namesServer struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	responses chan *discoveryv3.DeltaDiscoveryResponse

	mu    sync.Mutex
	first []*discoveryv3.DeltaDiscoveryRequest
	acks  []string
	// subscribed are the names of other requests.
	subscribed []string
	// authority are the versions of the authority in first requests, rejected the error messages.
	authority, rejected []string
}

func (s *namesServer) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.first = append(s.first, request)
	s.recordAuthority(request)
	s.mu.Unlock()
	go s.record(stream)
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case r := <-s.responses:
			if r == nil {
				return nil // ends the stream
			}
			if err := stream.Send(r); err != nil {
				return err
			}
		}
	}
}

// record records the requests of a stream until it ends.
func (s *namesServer) record(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) {
	for {
		r, err := stream.Recv()
		if err != nil {
			return
		}
		s.mu.Lock()
		if detail := r.GetErrorDetail(); detail != nil {
			s.rejected = append(s.rejected, detail.GetMessage())
		} else {
			s.acks = append(s.acks, r.GetResponseNonce())
		}
		if s.recordAuthority(r) {
			s.mu.Unlock()
			continue
		}
		for _, name := range r.GetResourceNamesSubscribe() {
			s.subscribed = append(s.subscribed, "+"+name)
		}
		for _, name := range r.GetResourceNamesUnsubscribe() {
			s.subscribed = append(s.subscribed, "-"+name)
		}
		s.mu.Unlock()
	}
}

// recordAuthority records the version of a first request for the authority, and reports whether a request is for it.
// It requires the lock.
func (s *namesServer) recordAuthority(r *discoveryv3.DeltaDiscoveryRequest) bool {
	if r.GetTypeUrl() == sidecar.AuthorityType && len(r.GetResourceNamesSubscribe()) > 0 {
		s.authority = append(s.authority, r.GetInitialResourceVersions()["mesh"])
	}
	return r.GetTypeUrl() == sidecar.AuthorityType
}

// subscriptions lists the names that were subscribed and unsubscribed after the first request.
func (s *namesServer) subscriptions() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.subscribed, " ")
}

func (s *namesServer) acknowledged(nonce string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.acks, nonce)
}

// hostResource is a host name as the control plane sends it.
func hostResource(t *testing.T, name, address string) *discoveryv3.Resource {
	t.Helper()
	body, err := anypb.New(&datadnsv3.DnsTable_DnsVirtualDomain{
		Name: name, AnswerTtl: durationpb.New(30 * time.Second),
		Endpoint: &datadnsv3.DnsTable_DnsEndpoint{EndpointConfig: &datadnsv3.DnsTable_DnsEndpoint_AddressList{
			AddressList: &datadnsv3.DnsTable_AddressList{Address: []string{address}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &discoveryv3.Resource{Name: name, Version: "v-" + address, Resource: body}
}

// newNamesAgent returns an agent with a certificate, and the xDS server that it connects to.
func newNamesAgent(t *testing.T) (*agent, *namesServer) {
	t.Helper()
	return newPod(t, "good", identity.HandlerOptions{}).connect(t)
}

// connect returns an agent of a pod with a certificate, and the xDS server that it connects to.
func (p *testPod) connect(t *testing.T) (*agent, *namesServer) {
	t.Helper()
	serving, err := identity.NewServingCertificate(p.ca, []string{"localhost"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	xds := &namesServer{responses: make(chan *discoveryv3.DeltaDiscoveryResponse)}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(serving.MutualTLSConfig())))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, xds)
	go func() { _ = server.Serve(l) }() // ends with the test
	t.Cleanup(server.Stop)
	resolvConf := filepath.Join(p.dir, "resolv.conf")
	if err := os.WriteFile(resolvConf, []byte("nameserver 127.0.0.1\nsearch shop.svc.cluster.local\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(freeport.Address(t), ":")
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	_, xdsPort, _ := net.SplitHostPort(l.Addr().String())
	a := newRun(Config{
		SigningURL: p.signing, SigningServerName: "anymesh.test", TokenPath: p.dir + "/token", RootsPath: p.dir + "/root.pem",
		CertDir: p.certs, Logger: slog.New(slog.DiscardHandler),
		XDSAddress: "localhost:" + xdsPort, DNSPort: uint16(number), ResolvConf: resolvConf,
	})
	if _, err := a.requestCertificate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a, xds
}

// lookup returns the IPv4 address that the DNS server of an agent answers.
func (a *agent) lookup(name string) (string, error) {
	question := new(miekg.Msg).SetQuestion(name+".", miekg.TypeA)
	client := miekg.Client{Timeout: 5 * time.Second}
	answer, _, err := client.Exchange(question, fmt.Sprintf("127.0.0.1:%d", a.DNSPort))
	if err != nil {
		return "", err
	}
	if len(answer.Answer) != 1 {
		return "", fmt.Errorf("%s: %v", miekg.RcodeToString[answer.Rcode], answer.Answer)
	}
	return answer.Answer[0].(*miekg.A).A.String(), nil
}

func TestNamesOfTheMeshAreAnswered(t *testing.T) {
	a, xds := newNamesAgent(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	n, err := a.startDNS(ctx, wg.Go)
	if err != nil {
		t.Fatal(err)
	}
	a.names = n
	a.phase.advance(running)
	if err := a.ready(ctx); err == nil || !strings.Contains(err.Error(), "host names") {
		t.Errorf("before the first response: ready returned %v", err)
	}
	wg.Go(func() { n.watch(ctx) })
	send := func(r *discoveryv3.DeltaDiscoveryResponse) {
		if r.GetTypeUrl() == "" {
			r.TypeUrl = sidecar.HostNameType
		}
		xds.responses <- r
		eventually(t, "the acknowledgement of "+r.GetNonce(), func() bool { return xds.acknowledged(r.GetNonce()) })
	}
	send(&discoveryv3.DeltaDiscoveryResponse{Nonce: "1", Resources: []*discoveryv3.Resource{
		hostResource(t, "color.apps", "240.240.0.9"), hostResource(t, "cart.apps", "240.240.0.10"),
	}})
	if err := a.ready(ctx); err != nil {
		t.Errorf("after the first response: %v", err)
	}
	for _, name := range []string{"color.apps", "Color.Apps", "color.apps.shop.svc.cluster.local"} {
		if got, err := a.lookup(name); err != nil || got != "240.240.0.9" {
			t.Errorf("%s: got %s, error %v", name, got, err)
		}
	}
	send(&discoveryv3.DeltaDiscoveryResponse{Nonce: "2", RemovedResources: []string{"cart.apps"}})
	if !n.received.Load() || len(n.table.Hosts) != 1 {
		t.Errorf("after the removal: %v", n.table)
	}

	t.Run("reconnect", func(t *testing.T) {
		xds.responses <- nil
		send(&discoveryv3.DeltaDiscoveryResponse{Nonce: "3", Resources: []*discoveryv3.Resource{
			hostResource(t, "cart.apps", "240.240.0.11"),
		}})
		xds.mu.Lock()
		defer xds.mu.Unlock()
		if got := xds.first[1].GetInitialResourceVersions(); len(got) != 1 || got["color.apps"] != "v-240.240.0.9" {
			t.Errorf("initial_resource_versions: %v", got)
		}
		if got, err := a.lookup("cart.apps"); err != nil || got != "240.240.0.11" {
			t.Errorf("got %s, error %v", got, err)
		}
	})
	cancel()
	wg.Wait()

	t.Run("restart without control plane", func(t *testing.T) {
		a.metrics = newMetrics() // of the new process
		n, err := a.startDNS(t.Context(), func(f func()) { go f() })
		if err != nil {
			t.Fatal(err)
		}
		if !n.received.Load() {
			t.Error("the agent waits for names")
		}
		if got, err := a.lookup("color.apps"); err != nil || got != "240.240.0.9" {
			t.Errorf("got %s, error %v", got, err)
		}
	})
}
