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

func measure(ctx context.Context, o options) (map[string]*figures, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var received atomic.Int64
	var base ports
	var err error
	if base.httpServer, err = serve(ctx, answer); err != nil {
		return nil, err
	}
	if base.tcpServer, err = serve(ctx, discard(&received)); err != nil {
		return nil, err
	}
	sink, err := newSink(ctx)
	if err != nil {
		return nil, err
	}
	base.udpServer = sink.port()
	all := map[string]*figures{}
	running := map[string]*process{}
	at := map[string]ports{}
	for _, name := range names {
		p := base
		for _, port := range []*int{&p.http, &p.http2, &p.tcp, &p.udp} {
			if *port, err = freePort(); err != nil {
				return nil, err
			}
		}
		r, err := o.start(ctx, name, p)
		if err != nil {
			return nil, err
		}
		defer r.stop()
		time.Sleep(500 * time.Millisecond) // its start is over
		f := &figures{http1: map[int][]float64{}, readyMilli: r.ready.Seconds() * 1000}
		if f.rss, err = r.rss(); err != nil {
			return nil, err
		}
		all[name], running[name], at[name] = f, r, p
	}
	wants := func(part string) bool { return o.only == "" || strings.Contains(o.only, part) }
	for round := range o.rounds {
		for _, name := range names {
			f, r, p := all[name], running[name], at[name]
			for _, n := range connections {
				if !wants("http1") {
					break
				}
				used, count, err := r.during(func() (int64, error) { return requests(ctx, p.http, n, o.each) })
				if err != nil {
					return nil, fmt.Errorf("%s: %w\n%s", name, err, r.log.String())
				}
				f.http1[n] = append(f.http1[n], used.Seconds()*1e6/float64(count))
			}
			if wants("http2") && p.http2 != 0 {
				used, count, err := r.during(func() (int64, error) { return streams(ctx, p.http2, o.each) })
				if err != nil {
					return nil, fmt.Errorf("%s: HTTP/2: %w\n%s", name, err, r.log.String())
				}
				f.http2 = append(f.http2, used.Seconds()*1e6/float64(count))
			}
			if wants("bulk") {
				used, bytes, err := r.during(func() (int64, error) {
					before := received.Load()
					err := upload(p.tcp, o.each)
					return received.Load() - before, err
				})
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				f.bulk = append(f.bulk, float64(bytes)*8/1e9/used.Seconds())
			}
		}
		progress("round %d of %d", round+1, o.rounds)
	}
	if !wants("udp") {
		return all, nil
	}
	for _, name := range []string{own, "nginx"} {
		if err := all[name].udp(ctx, running[name], at[name], sink, o.each); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
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
