package xds

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
)

var backgroundContext = context.Background()

// clientPool is a set of clients that acknowledge every response.
type clientPool struct {
	got atomic.Int64 // received resources
}

// envoyNode is a node as Envoy sends it, with all extensions.
func envoyNode() *corev3.Node {
	n := &corev3.Node{Id: "sidecar~10.0.0.1~shop", Cluster: "shop", UserAgentName: "envoy",
		Metadata: &structpb.Struct{}}
	for i := range 400 {
		n.Extensions = append(n.Extensions, &corev3.Extension{
			Name: "envoy.filters.http.number_" + strconv.Itoa(i), Category: "envoy.filters.http",
			TypeUrls: []string{"envoy.extensions.filters.http.number.v3.Config"},
		})
	}
	return n
}

func (c *clientPool) join(b testing.TB, p *process, names []string, key string) {
	// Like Envoy, and unlike gRPC's default, it sends no BDP pings.
	conn := p.dial(b, p.ca.leaf(b, key, time.Hour), grpc.WithInitialWindowSize(1<<20),
		grpc.WithInitialConnWindowSize(1<<20))
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, req := range []*discoveryv3.DeltaDiscoveryRequest{
		{TypeUrl: ClusterType, Node: envoyNode()}, {TypeUrl: EndpointType, ResourceNamesSubscribe: names}, {TypeUrl: ListenerType},
	} {
		if err := stream.Send(req); err != nil {
			b.Fatal(err)
		}
	}
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			if stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.GetTypeUrl(),
				ResponseNonce: r.GetNonce()}) != nil {
				return
			}
			c.got.Add(int64(len(r.GetResources())))
		}
	}()
}

// BenchmarkServer measures a server with 200 clients of 1000 services: memory per idle client, and CPU time of a
// change of one endpoint until all clients acknowledge it. Set CPUPROFILE or HEAPPROFILE to write a profile of the
// server.
func BenchmarkServer(b *testing.B) {
	const clients = 200
	p := startProcess(b)
	empty := p.order("memory")
	p.order("keys " + strconv.Itoa(clients))
	var names []string
	for i := range services {
		names = append(names, service(i))
	}
	c := &clientPool{}
	before := p.order("memory")
	for k := range clients {
		c.join(b, p, names, "w"+strconv.Itoa(k))
		eventually(b, "client "+strconv.Itoa(k)+" is served",
			func() bool { return c.got.Load() == int64(2*services*(k+1)) })
	}
	if path := os.Getenv("HEAPPROFILE"); path != "" {
		p.order("heap " + path)
	}
	after := p.order("memory")
	if path := os.Getenv("CPUPROFILE"); path != "" {
		p.order("profile " + path)
	}
	spent := p.order("cpu")
	rounds := 0
	for b.Loop() {
		want := c.got.Load() + clients
		p.order("change " + strconv.Itoa(rounds))
		rounds++
		eventually(b, "all have the change", func() bool { return c.got.Load() == want })
	}
	used := p.order("cpu")
	b.ReportMetric((used[0]-spent[0])/float64(rounds)/1000, "CPU-ms/change")
	b.ReportMetric((used[1]-spent[1])/float64(rounds), "waits/change")
	b.ReportMetric((used[2]-spent[2])/float64(rounds)/clients, "allocs/client-change")
	b.ReportMetric((used[3]-spent[3])/float64(rounds)/clients, "B/client-change")
	each := func(i int) float64 { return (after[i] - before[i]) / clients }
	b.ReportMetric(each(0)/1000, "kB/client")
	b.ReportMetric(each(1)/1000, "kB-resident/client")
	b.ReportMetric(each(2)/1000, "kB-objects/client")
	b.ReportMetric(each(3)/1000, "kB-stack/client")
	b.ReportMetric(each(4), "goroutines/client")
	b.ReportMetric((before[0]-empty[0])/clients/1000, "kB/workload")
	p.order("stop")
}
