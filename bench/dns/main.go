// Command dns measures what questions cost the DNS server of a pod.
//
// In: a server and names. Out: for each name questions per second, latency, and the CPU time of the server's process
// per 100 000 questions. Without --server, it starts the server of the agent as a process of its own. Each client sends
// a question when it has the reply to the one before. For another server, give its address and process:
//
//	go run ./bench/dns
//	go run ./bench/dns --server 127.0.0.1:1053 --pid "$(pidof coredns)" --name color.apps.pvt.local --name example.com
//
// The nameserver that gets forwarded questions is part of this process; --upstream is its address. To compare with
// CoreDNS, start it with this Corefile before the second command:
//
//	.:1053 {
//	  bind 127.0.0.1
//	  hosts {
//	    10.0.0.1 color.apps.pvt.local
//	    fallthrough
//	  }
//	  forward . 127.0.0.1:1153
//	}
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/pod/dns"
)

// ownName is in the table of the server that this program starts.
const ownName = "color.apps.pvt.local"

// serveVariable makes this program the server: its value is the listen address and the nameserver.
const serveVariable = "ANYMESH_BENCH_DNS_SERVE"

// load is what the clients do.
type load struct {
	network     string
	server      string
	questions   int
	concurrency int
}

func main() {
	if addresses := os.Getenv(serveVariable); addresses != "" {
		exitOn(serve(addresses))
		return
	}
	var (
		l        load
		names    []string
		pid      int
		upstream string
	)
	flag.StringVar(&l.server, "server", "", "address of a running server; default: start the server of the agent")
	flag.IntVar(&pid, "pid", 0, "process of --server, for its CPU time")
	flag.StringVar(&upstream, "upstream", "127.0.0.1:1153", "listen address of the nameserver for forwarded questions")
	flag.Func("name", "name to ask for; repeatable; default: "+ownName+", which is answered, and example.com, which "+
		"is forwarded", func(name string) error { names = append(names, name); return nil })
	flag.StringVar(&l.network, "network", "udp", "udp or tcp; a client uses one TCP connection")
	flag.IntVar(&l.questions, "questions", 200_000, "questions for each name")
	flag.IntVar(&l.concurrency, "concurrency", 16, "clients")
	flag.Parse()
	if len(names) == 0 {
		names = []string{ownName, "example.com"}
	}
	exitOn(run(l, names, pid, upstream))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(l load, names []string, pid int, upstream string) error {
	stop, err := startUpstream(upstream)
	if err != nil {
		return err
	}
	defer stop()
	if l.server == "" {
		server, err := startServer(upstream)
		if err != nil {
			return err
		}
		defer server.stop()
		l.server, pid = server.address, server.pid
	}
	fmt.Printf("%-28s %12s %10s %10s %22s %7s\n", "name", "questions/s", "p50", "p99", "CPU s/100k questions", "lost")
	for _, name := range names {
		warmUp := l
		warmUp.questions = l.questions / 10
		if _, err := warmUp.ask(name); err != nil {
			return err
		}
		before, known := cpuTime(pid)
		r, err := l.ask(name)
		if err != nil {
			return err
		}
		cost := "unknown"
		if after, ok := cpuTime(pid); ok && known {
			cost = fmt.Sprintf("%.2f", (after-before).Seconds()/float64(l.questions)*100_000)
		}
		fmt.Printf("%-28s %12.0f %10v %10v %22s %7d\n", name, float64(l.questions)/r.took.Seconds(),
			r.percentile(50), r.percentile(99), cost, r.lost)
	}
	return nil
}

// serve runs the server of the agent until its standard input ends.
func serve(addresses string) error {
	listen, upstream, _ := strings.Cut(addresses, " ")
	nameserver, err := netip.ParseAddrPort(upstream)
	if err != nil {
		return err
	}
	s, err := dns.New(dns.Config{
		Listen: []string{listen}, Upstreams: []netip.AddrPort{nameserver}, IPv4: true, IPv6: true,
		Search: []string{"ns.svc.cluster.local", "svc.cluster.local", "cluster.local"},
	})
	if err != nil {
		return err
	}
	s.SetNames(map[string]dns.Record{
		ownName: {Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, TTL: 30},
	})
	if err := s.Listen(); err != nil {
		return err
	}
	fmt.Println("listening")
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent process
		cancel()
	}()
	return s.Run(ctx)
}

// server is a process with the server of the agent.
type server struct {
	address string
	pid     int
	stop    func()
}

func startServer(upstream string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), serveVariable+"="+address+" "+upstream)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
		}
	}
	deadline := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer deadline.Stop()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		stop()
		return nil, fmt.Errorf("the server does not start: %w", err)
	}
	return &server{address: address, pid: cmd.Process.Pid, stop: stop}, nil
}

// freeAddress returns an address whose port is free for both transports.
func freeAddress() (string, error) {
	var err error
	for range 10 {
		packets, listenErr := net.ListenPacket("udp", "127.0.0.1:0")
		if listenErr != nil {
			return "", listenErr
		}
		address := packets.LocalAddr().String()
		var listener net.Listener
		if listener, err = net.Listen("tcp", address); err == nil {
			_ = listener.Close() // the server takes the port
		}
		_ = packets.Close()
		if err == nil {
			return address, nil
		}
	}
	return "", err
}
