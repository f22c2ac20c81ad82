package xds

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// serverVariable makes the test binary run as a server: benchmarks measure the server in its own process.
const serverVariable = "ANYMESH_XDS_SERVER"

const services = 1000

func service(i int) string { return "service-" + strconv.Itoa(i) + ".shop.svc.cluster.local:8080" }

func realCluster(i int) *Resource {
	r, err := NewResource(service(i), &clusterv3.Cluster{
		Name: service(i), ConnectTimeout: durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
			ResourceApiVersion:    corev3.ApiVersion_V3,
		}},
	})
	if err != nil {
		panic(err)
	}
	return r
}

func realEndpoints(i, round int) *Resource {
	address := &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       fmt.Sprintf("10.0.%d.%d", i/250, i%250),
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(1024 + round%60000)},
	}}}
	r, err := NewResource(service(i), &endpointv3.ClusterLoadAssignment{ClusterName: service(i),
		Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{
				{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}}},
			},
		}}})
	if err != nil {
		panic(err)
	}
	return r
}

// serveInProcess is the server of a benchmark. It reads commands from stdin and writes one line per command to
// stdout.
func serveInProcess() {
	pair, err := tls.LoadX509KeyPair(os.Getenv(serverVariable)+".crt", os.Getenv(serverVariable)+".key")
	exitOnError(err)
	root, err := os.ReadFile(os.Getenv(serverVariable) + ".root")
	exitOnError(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(root)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	exitOnError(err)
	s := NewServer(authorizeByCommonName, Options{Logger: discardLogger(), TLS: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}})
	var all []*Resource
	for i := range services {
		all = append(all, realCluster(i), realEndpoints(i, 0))
	}
	shared, err := NewShared(all...)
	exitOnError(err)
	snapshot, err := shared.With()
	exitOnError(err)
	recordLiveHeap()
	go func() { exitOnError(s.Serve(backgroundContext, l)) }()
	fmt.Println(l.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		order := strings.Fields(in.Text())
		switch order[0] {
		case "keys": // publish the same snapshot for a number of workloads
			keys, _ := strconv.Atoi(order[1])
			for k := range keys {
				s.Publish("w"+strconv.Itoa(k), snapshot, time.Time{})
			}
			fmt.Println("ok")
		case "change": // change one endpoint for all workloads
			round, _ := strconv.Atoi(order[1])
			u := &Update{Changed: []*Resource{realEndpoints(round%services, 1+round)}}
			s.Update(shared, u, time.Now())
			fmt.Println("ok")
		case "memory": // print heap and stacks in use, and resident memory, in bytes
			for range 5 { // each GC halves oversized stacks
				runtime.GC()
			}
			debug.FreeOSMemory()
			peakLive.Store(0)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println(m.HeapInuse+m.StackInuse, resident(), m.HeapAlloc, m.StackInuse, runtime.NumGoroutine())
		case "gc": // set GOGC
			percent, _ := strconv.Atoi(order[1])
			fmt.Println(debug.SetGCPercent(percent))
		case "peak": // print the largest heap after a garbage collection, and the largest resident memory, in bytes
			fmt.Println(peakLive.Load(), peakResident())
		case "cpu": // print CPU time in microseconds, voluntary context switches and allocations
			var u syscall.Rusage
			exitOnError(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println((u.Utime.Nano()+u.Stime.Nano())/1000, u.Nvcsw, m.Mallocs, m.TotalAlloc)
		case "heap":
			f, err := os.Create(order[1])
			exitOnError(err)
			runtime.GC()
			exitOnError(pprof.WriteHeapProfile(f))
			f.Close()
			fmt.Println("ok")
		case "profile":
			f, err := os.Create(order[1])
			exitOnError(err)
			exitOnError(pprof.StartCPUProfile(f))
			fmt.Println("ok")
		case "stop":
			pprof.StopCPUProfile()
			fmt.Println("ok")
		}
	}
}

func resident() int {
	text, err := os.ReadFile("/proc/self/statm")
	exitOnError(err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	exitOnError(err)
	return pages * os.Getpagesize()
}

// peakLive is the largest live heap that a garbage collection found, in bytes, since "memory" was printed.
var peakLive atomic.Int64

// recordLiveHeap records the live heap after each garbage collection.
func recordLiveHeap() {
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(live)
	if n := int64(live[0].Value.Uint64()); n > peakLive.Load() {
		peakLive.Store(n)
	}
	runtime.AddCleanup(new([16]byte), func(struct{}) { recordLiveHeap() }, struct{}{})
}

func peakResident() (kb int) {
	text, err := os.ReadFile("/proc/self/status")
	exitOnError(err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	_, _ = fmt.Sscan(rest, &kb)
	return kb << 10
}

func exitOnError(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is a server in a process of its own.
type process struct {
	testServer
	testing.TB
	in  *os.File
	out *bufio.Scanner
}

func startProcess(t testing.TB) *process {
	t.Helper()
	p := &process{TB: t, testServer: testServer{ca: newTestCA(t)}}
	prefix := t.TempDir() + "/server"
	leaf := p.ca.leaf(t, "anymesh", time.Hour)
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{
		".crt": {Type: "CERTIFICATE", Bytes: leaf.Certificate[0]}, ".key": {Type: "PRIVATE KEY", Bytes: key}, ".root": {Type: "CERTIFICATE", Bytes: p.ca.cert.Raw},
	} {
		if err := os.WriteFile(prefix+suffix, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), serverVariable+"="+prefix)
	cmd.Stdin, cmd.Stderr = in, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	p.in, p.out = toServer, bufio.NewScanner(out)
	t.Cleanup(func() { toServer.Close(); cmd.Wait() })
	p.addr = p.answer()[0]
	return p
}

func (p *process) answer() []string {
	p.Helper()
	if !p.out.Scan() {
		p.Fatal("the server is gone")
	}
	return strings.Fields(p.out.Text())
}

// order sends a command and returns the numbers of the result line.
func (p *process) order(line string) []float64 {
	p.Helper()
	fmt.Fprintln(p.in, line)
	var all []float64
	for _, word := range p.answer() {
		n, _ := strconv.ParseFloat(word, 64)
		all = append(all, n)
	}
	return all
}
