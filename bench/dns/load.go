package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// result is what the clients saw.
type result struct {
	took      time.Duration
	latencies []time.Duration // sorted
	lost      int             // questions without a reply in time, which are not repeated
}

func (r *result) percentile(p int) time.Duration {
	if len(r.latencies) == 0 {
		return 0
	}
	return r.latencies[(len(r.latencies)-1)*p/100].Round(time.Microsecond)
}

// ask sends all questions for a name.
func (l load) ask(name string) (*result, error) {
	if l.concurrency < 1 || l.questions < l.concurrency {
		return nil, fmt.Errorf("%d questions for %d clients", l.questions, l.concurrency)
	}
	parts := make([]result, l.concurrency)
	failures := make([]error, l.concurrency)
	var clients sync.WaitGroup
	begin := time.Now()
	for i := range l.concurrency {
		n := l.questions / l.concurrency
		if i < l.questions%l.concurrency {
			n++
		}
		clients.Go(func() { failures[i] = l.client(name, n, &parts[i]) })
	}
	clients.Wait()
	all := &result{took: time.Since(begin)}
	for _, p := range parts {
		all.latencies = append(all.latencies, p.latencies...)
		all.lost += p.lost
	}
	slices.Sort(all.latencies)
	return all, errors.Join(failures...)
}

// client sends n questions, one after the other.
func (l load) client(name string, n int, out *result) error {
	conn, err := net.Dial(l.network, l.server)
	if err != nil {
		return err
	}
	defer conn.Close()
	framed := &dns.Conn{Conn: conn}
	msg, err := new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA).Pack()
	if err != nil {
		return err
	}
	buffer := make([]byte, 64<<10)
	out.latencies = make([]time.Duration, 0, n)
	for i := range n {
		msg[0], msg[1] = byte(i>>8), byte(i)
		begin := time.Now()
		if err := conn.SetDeadline(begin.Add(5 * time.Second)); err != nil {
			return err
		}
		if _, err := framed.Write(msg); err != nil {
			return err
		}
		for {
			size, err := framed.Read(buffer)
			if errors.Is(err, os.ErrDeadlineExceeded) && l.network == "udp" {
				out.lost++
				break
			}
			if err != nil {
				return err
			}
			if size < len(msg) || buffer[0] != msg[0] || buffer[1] != msg[1] {
				continue // the late reply to an earlier question
			}
			if rcode := buffer[3] & 0xf; rcode != dns.RcodeSuccess {
				return fmt.Errorf("the reply for %s is %s", name, dns.RcodeToString[int(rcode)])
			}
			out.latencies = append(out.latencies, time.Since(begin))
			break
		}
	}
	return nil
}

// startUpstream starts a nameserver that answers every question with one address.
func startUpstream(address string) (stop func(), err error) {
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, in *dns.Msg) {
		out := new(dns.Msg).SetReply(in)
		out.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: in.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 30},
			A:   net.IPv4(192, 0, 2, 1),
		}}
		_ = w.WriteMsg(out) // the server may have given up
	})
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		_ = packets.Close() // nothing is sent yet
		return nil, err
	}
	servers := []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: listener, Handler: handler}}
	for _, s := range servers {
		go func() {
			if err := s.ActivateAndServe(); err != nil {
				fmt.Fprintln(os.Stderr, "nameserver:", err)
			}
		}()
	}
	return func() {
		for _, s := range servers {
			_ = s.Shutdown() // the process ends
		}
	}, nil
}

// cpuTime returns the CPU time of a process, on Linux.
func cpuTime(pid int) (time.Duration, bool) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all architectures of Go
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name of the program may have spaces
	fields := strings.Fields(after)
	const user, system = 11, 12 // fields 14 and 15 of proc_pid_stat(5)
	if len(fields) <= system {
		return 0, false
	}
	var total time.Duration
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, false
		}
		total += time.Duration(n) * tick
	}
	return total, true
}
