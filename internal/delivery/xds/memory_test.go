package xds

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// maxGrowth is the heap that one certificate can make the process use, in bytes.
const maxGrowth = 16 << 20

// maxRequest is a little less than MaxRequestSize.
const maxRequest = 2<<20 - 1000

// manyConns and manyStreams are more than a certificate may have.
const (
	manyHostileConns   = 12
	manyHostileStreams = 10
)

// onAllStreams runs an attack on many streams of many connections.
func (c *hostileClient) onAllStreams(block bool, attack func(h *hostileConn, id uint32)) {
	var all sync.WaitGroup
	for range manyHostileConns {
		h := c.connect(block)
		all.Go(func() {
			for i := range manyHostileStreams {
				id := uint32(2*i + 1)
				h.open(id)
				attack(h, id)
			}
		})
	}
	all.Wait()
}

func encode(t testing.TB, r *discoveryv3.DeltaDiscoveryRequest) []byte {
	b, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// manyRequests returns requests that subscribe to names of a size, each as large as the server accepts.
func manyRequests(t testing.TB, typeURL string, nameSize int, prefix, suffix string) [][]byte {
	var all [][]byte
	for part := range 2 {
		r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL}
		for i := range min(99_000, maxRequest/(nameSize+4)) {
			name := fmt.Sprintf("%s%x.%x", prefix, part, i)
			r.ResourceNamesSubscribe = append(r.ResourceNamesSubscribe,
				name+strings.Repeat("n", max(0, nameSize-len(name)-len(suffix)))+suffix)
		}
		all = append(all, encode(t, r))
	}
	return all
}

var attacks = []struct {
	name string
	run  func(c *hostileClient)
}{
	{"stalled handshakes", func(c *hostileClient) {
		for range 300 { // a ClientHello of 16 KiB that is not complete
			conn := c.dial()
			go func() {
				_, _ = io.WriteString(conn, "\x16\x03\x01\x40\x00\x01\x00\xff\xfc"+strings.Repeat("x", 16<<10))
			}()
		}
	}},
	{"connections and header blocks", func(c *hostileClient) {
		for range 100 {
			h := c.connect(false)
			_ = h.WriteRawFrame(1, 0, 1, make([]byte, 16<<10))
			_ = h.WriteRawFrame(9, 0, 1, make([]byte, 15<<10))
		}
	}},
	{"unfinished messages", func(c *hostileClient) {
		b := make([]byte, maxRequest)
		c.onAllStreams(false, func(h *hostileConn, id uint32) { h.send(id, b, 100) })
	}},
	{"short names", func(c *hostileClient) {
		requests := manyRequests(c, RouteType, 6, "", "")
		c.onAllStreams(true, func(h *hostileConn, id uint32) {
			for _, r := range requests {
				h.send(id, r, 0)
			}
		})
	}},
	{"names up to the limit", func(c *hostileClient) {
		r := &discoveryv3.DeltaDiscoveryRequest{}
		for i := range 2000 {
			r.ResourceNamesSubscribe = append(r.ResourceNamesSubscribe, fmt.Sprint(i))
		}
		var requests [][]byte
		for i := range 30 {
			r.TypeUrl = fmt.Sprint("type", i)
			requests = append(requests, encode(c, r))
		}
		c.onAllStreams(true, func(h *hostileConn, id uint32) {
			for _, b := range requests {
				h.send(id, b, 0)
			}
		})
	}},
	{"long names", func(c *hostileClient) {
		requests := manyRequests(c, RouteType, 4<<10, "", "")
		c.onAllStreams(true, func(h *hostileConn, id uint32) {
			for _, r := range requests {
				h.send(id, r, 0)
			}
		})
	}},
	{"collections", func(c *hostileClient) {
		requests := manyRequests(c, RouteType, 4<<10, "xdstp://", "/*")
		c.onAllStreams(true, func(h *hostileConn, id uint32) {
			for _, r := range requests {
				h.send(id, r[:min(len(r), 1900<<10)], 0)
			}
		})
	}},
	{"types", func(c *hostileClient) {
		c.onAllStreams(true, func(h *hostileConn, id uint32) {
			for i := range 40 {
				h.send(id, encode(c, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: fmt.Sprint(i, strings.Repeat("t", 4000)),
					ResourceNamesSubscribe: []string{"a"}}), 0)
			}
		})
	}},
	{"nodes", func(c *hostileClient) {
		b := encode(c, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: RouteType, Node: &corev3.Node{
			Id: strings.Repeat("n", 4<<10), Cluster: strings.Repeat("n", 4<<10), UserAgentName: strings.Repeat("n", 200<<10)}})
		c.onAllStreams(true, func(h *hostileConn, id uint32) { h.send(id, b, 0) })
	}},
	{"initial versions", func(c *hostileClient) {
		r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: ClusterType, InitialResourceVersions: map[string]string{}}
		for i := range 99_000 {
			r.InitialResourceVersions[fmt.Sprint(i)] = ""
		}
		b := encode(c, r)
		c.onAllStreams(true, func(h *hostileConn, id uint32) { h.send(id, b, 0) })
	}},
}

// One certificate can make the process grow by at most maxGrowth. The server is a process of its own, whose memory is
// measured after garbage collection, while the connections are open.
func TestMemoryOfOneCertificate(t *testing.T) {
	p := startProcess(t)
	p.order("keys 1")
	p.order("gc 25") // as in the control plane
	before := p.order("memory")
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			// What is allocated during a collection counts as live, and is more on a busy machine: another attempt decides.
			grown := math.Inf(1)
			for attempt := 0; attempt < 3 && grown > maxGrowth; attempt++ {
				c := newHostileClient(t, p)
				attack.run(c)
				// the answer of a command comes after what the server has read
				peak := p.order("peak")
				after := p.order("memory")
				grown = max(peak[0]-before[2], after[0]-before[0])
				t.Logf("at most %.1f MiB of heap, %.1f MiB resident; %.1f MiB of heap at the end",
					(peak[0]-before[2])/(1<<20), (peak[1]-before[1])/(1<<20), (after[0]-before[0])/(1<<20))
				c.close()
			}
			if grown > maxGrowth {
				t.Errorf("the heap grows by %.1f MiB, the limit is %d MiB", grown/(1<<20), maxGrowth>>20)
			}
		})
	}
}

// 48 certificates with an unfinished first message on each of two connections, all close to MaxRequestSize: the heap
// grows by MaxUnfinished and little else.
func TestMemoryOfUnfinishedMessages(t *testing.T) {
	const certificates, allowed = 48, 16 << 20
	p := startProcess(t)
	p.order("keys 1")
	p.order("gc 25") // as in the control plane
	before := p.order("memory")
	b := make([]byte, maxRequest)
	var all sync.WaitGroup
	for i := range certificates {
		c := newHostileClientNamed(t, p, fmt.Sprintf("hostile-%d", i))
		for range 2 {
			h := c.connect(false)
			all.Go(func() {
				h.open(1)
				h.send(1, b, 100)
			})
		}
	}
	all.Wait()
	peak, after := p.order("peak"), p.order("memory")
	t.Logf("at most %.1f MiB of heap, %.1f MiB resident; %.1f MiB of heap at the end", (peak[0]-before[2])/(1<<20),
		(peak[1]-before[1])/(1<<20), (after[0]-before[0])/(1<<20))
	if grown := after[0] - before[0]; grown > float64(defaultUnfinished()+allowed) {
		t.Errorf("the heap grows by %.1f MiB", grown/(1<<20))
	}
	if peak := peak[0] - before[2]; peak > float64(defaultUnfinished()+2*allowed) {
		t.Errorf("the heap grows by %.1f MiB for a while", peak/(1<<20))
	}
}

func defaultUnfinished() int {
	var o Options
	o.setDefaults()
	return o.MaxUnfinished
}
