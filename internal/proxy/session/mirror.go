package session

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// warn adds an event if messages lose their boundaries on their way.
func (s *Session) warn(chain []*stage) {
	name := func(g *stage) string {
		if g == s.source {
			return "the client"
		}
		return fmt.Sprintf("cluster %q", g.slot.Name)
	}
	var from *stage // what makes messages; pseudo clusters pass what comes
	for _, g := range chain {
		switch {
		case !g.side().Messages():
			if from != nil {
				s.event("WARNING", fmt.Sprintf("messages of %s lose their boundaries on the way to %s", name(from), name(g)))
				return
			}
		case g == s.source || makesMessages(g.counted.Load()):
			from = g
		}
	}
}

func makesMessages(c *cluster.Cluster) bool {
	return c != nil && (!c.Spec.Protocol.Pseudo() || c.Spec.Protocol == config.JSONEncap)
}

// tee copies what is written.
type tee struct {
	stream.Stream
	mirrors []*stream.Pipe
}

// Write implements stream.Stream. A mirror that is too slow loses messages, or the rest of a stream of bytes.
func (t tee) Write(b []byte) (int, error) {
	for _, m := range t.mirrors {
		if !m.Offer(bytes.Clone(b)) && !t.Messages() {
			_ = m.Close() // it has no error
		}
	}
	return t.Stream.Write(b)
}

// startMirrors connects to the mirrors of the route, in the background.
func (s *Session) startMirrors(ctx context.Context) []*stream.Pipe {
	var all []*stream.Pipe
	for _, slot := range s.route.Chosen() {
		c := slot.Get()
		if c == nil {
			continue
		}
		p := stream.NewPipe(nil)
		all = append(all, p)
		go func() {
			if err := s.mirror(ctx, c, p); err != nil {
				c.Failed.Add(1)
				_ = p.Close() // it has no error
			}
		}()
	}
	return all
}

// mirrorLinger is how long a mirror may take what is left after the end of the session.
const mirrorLinger = 5 * time.Second

// mirror sends a copy to a cluster, and drops what comes back.
func (s *Session) mirror(ctx context.Context, c *cluster.Cluster, p *stream.Pipe) error {
	var e *cluster.Endpoint
	var err error
	if !c.Spec.Protocol.Pseudo() {
		if e, err = c.Pick(s.Meta, nil); err != nil {
			return err
		}
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(mirrorLinger, cancel) })
	defer stop()
	c.Sessions.Add(1)
	to, err := s.manager.Connector.Connect(late, c, e, s.Meta)
	if err != nil {
		return err
	}
	defer context.AfterFunc(late, func() { _ = to.Close() })() // interrupts the copies
	go func() { _ = stream.Copy(nowhere{}, to, func(int) {}) }()
	err = stream.Copy(to, p, func(int) {})
	_ = to.CloseWrite() // the connection is closed then
	_ = to.Close()      // as above
	return err
}

// nowhere drops what is written.
type nowhere struct{}

func (nowhere) Read([]byte) (int, error)    { return 0, context.Canceled }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) CloseWrite() error           { return nil }
func (nowhere) Close() error                { return nil }
func (nowhere) Messages() bool              { return true }
