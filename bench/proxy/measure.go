package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// connections are the numbers of connections of the HTTP measurements.
var connections = []int{1, 64, 512}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "  "+format+"\n", args...) }

// proxies are the proxies that are measured.
type proxies struct {
	options
	figures  map[string]*figures
	running  map[string]*process
	at       map[string]ports
	received atomic.Int64 // bytes at the TCP server
	sink     *sink
}

func measure(ctx context.Context, o options) (map[string]*figures, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := &proxies{options: o, figures: map[string]*figures{}, running: map[string]*process{}, at: map[string]ports{}}
	defer all.stop()
	if err := all.start(ctx); err != nil {
		return nil, err
	}
	for round := range o.rounds {
		for _, name := range names {
			if err := all.round(ctx, name); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, all.running[name].log.String())
			}
		}
		progress("round %d of %d", round+1, o.rounds)
	}
	if !o.wants("udp") {
		return all.figures, nil
	}
	for _, name := range []string{own, "nginx"} {
		if err := all.figures[name].udp(ctx, all.running[name], all.at[name], all.sink, o.each); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all.figures, nil
}

// wants reports whether a part is measured.
func (o options) wants(part string) bool { return o.only == "" || strings.Contains(o.only, part) }

// start starts the servers, and the proxies in front of them.
func (a *proxies) start(ctx context.Context) (err error) {
	var servers ports
	if servers.httpServer, err = serve(ctx, answer); err != nil {
		return err
	}
	if servers.tcpServer, err = serve(ctx, discard(&a.received)); err != nil {
		return err
	}
	if a.sink, err = newSink(ctx); err != nil {
		return err
	}
	servers.udpServer = a.sink.port()
	for _, name := range names {
		p := servers
		for _, port := range []*int{&p.http, &p.http2, &p.tcp, &p.udp} {
			if *port, err = freePort(); err != nil {
				return err
			}
		}
		r, err := a.options.start(ctx, name, p)
		if err != nil {
			return err
		}
		a.running[name], a.at[name] = r, p
		time.Sleep(500 * time.Millisecond) // its start is over
		f := &figures{http1: map[int][]float64{}, readyMilli: r.ready.Seconds() * 1000}
		if f.rss, err = r.rss(); err != nil {
			return err
		}
		a.figures[name] = f
	}
	return nil
}

func (a *proxies) stop() {
	for _, r := range a.running {
		r.stop()
	}
}

// round measures one proxy.
func (a *proxies) round(ctx context.Context, name string) error {
	f, r, p := a.figures[name], a.running[name], a.at[name]
	perRequest := func(to *[]float64, port, n int, each func(context.Context, net.Conn, *atomic.Int64) error) error {
		used, count, err := r.during(func() (int64, error) { return load(ctx, port, n, a.each, each) })
		*to = append(*to, used.Seconds()*1e6/float64(count))
		return err
	}
	if a.wants("http1") {
		for _, n := range connections {
			values := f.http1[n]
			if err := perRequest(&values, p.http, n, repeat); err != nil {
				return err
			}
			f.http1[n] = values
		}
	}
	if a.wants("http2") && p.http2 != 0 {
		if err := perRequest(&f.http2, p.http2, streamConnections, streams); err != nil {
			return fmt.Errorf("HTTP/2: %w", err)
		}
	}
	if !a.wants("bulk") {
		return nil
	}
	used, bytes, err := r.during(func() (int64, error) {
		before := a.received.Load()
		err := upload(p.tcp, a.each)
		return a.received.Load() - before, err
	})
	f.bulk = append(f.bulk, float64(bytes)*8/1e9/used.Seconds())
	return err
}

// during returns the CPU time of the process during a function, and the result of the function.
func (r *process) during(do func() (int64, error)) (time.Duration, int64, error) {
	before, err := r.cpu()
	if err != nil {
		return 0, 0, err
	}
	n, err := do()
	if err != nil {
		return 0, 0, err
	}
	after, err := r.cpu()
	return after - before, max(n, 1), err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
