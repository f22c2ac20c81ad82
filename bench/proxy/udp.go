package main

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/net/ipv4"
)

const (
	packetSize = 160 // of an RTP packet
	flows      = 16
	batchSize  = 32
)

// sink counts packets.
type sink struct {
	conn  *net.UDPConn
	count atomic.Int64
}

func newSink(ctx context.Context) (*sink, error) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	_ = c.SetReadBuffer(8 << 20)                     // the system has a limit of its own
	context.AfterFunc(ctx, func() { _ = c.Close() }) // interrupts reads
	s := &sink{conn: c}
	go s.run()
	return s, nil
}

func (s *sink) port() int { return s.conn.LocalAddr().(*net.UDPAddr).Port }

func (s *sink) run() {
	in := messages()
	p := ipv4.NewPacketConn(s.conn)
	for {
		n, err := p.ReadBatch(in, 0)
		if err != nil {
			return
		}
		s.count.Add(int64(n))
	}
}

func messages() []ipv4.Message {
	all := make([]ipv4.Message, batchSize)
	for i := range all {
		all[i].Buffers = [][]byte{make([]byte, packetSize)}
	}
	return all
}

// send sends packets of several flows at a rate, in bursts of a millisecond.
func send(port, rate int, d time.Duration) (int64, error) {
	conns := make([]*ipv4.PacketConn, flows)
	for i := range conns {
		c, err := net.Dial("udp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return 0, err
		}
		defer func() { _ = c.Close() }() // all was sent
		conns[i] = ipv4.NewPacketConn(c.(*net.UDPConn))
	}
	out := messages()
	sent := int64(0)
	begun := time.Now()
	for i := 0; time.Since(begun) < d; i++ {
		due := int64(time.Since(begun).Seconds() * float64(rate))
		if sent >= due {
			time.Sleep(time.Millisecond)
			continue
		}
		n, err := conns[i%flows].WriteBatch(out[:min(batchSize, due-sent)], 0)
		if err != nil {
			return 0, err
		}
		sent += int64(n)
	}
	return sent, nil
}

// udp measures the relay of packets.
func (f *figures) udp(ctx context.Context, r *process, p ports, s *sink, d time.Duration) error {
	for _, rate := range []int{50_000, 1_000_000} {
		before, sent := s.count.Load(), int64(0)
		used, _, err := r.during(func() (n int64, err error) {
			sent, err = send(p.udp, rate, d)
			settle(ctx, s)
			return sent, err
		})
		if err != nil {
			return err
		}
		got := s.count.Load() - before
		progress("UDP: %d packets/s sent, %d received", int64(float64(sent)/d.Seconds()), int64(float64(got)/d.Seconds()))
		if rate == 50_000 {
			f.loss = 1 - float64(got)/float64(sent)
		} else {
			f.packets = float64(got) / used.Seconds()
		}
	}
	return nil
}

// settle waits until no more packets come.
func settle(ctx context.Context, s *sink) {
	for before := int64(-1); before != s.count.Load() && ctx.Err() == nil; {
		before = s.count.Load()
		time.Sleep(100 * time.Millisecond)
	}
}
