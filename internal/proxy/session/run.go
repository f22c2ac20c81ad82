package session

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/object"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// lateData is how long data is awaited from a connection that could not be told that no more data comes.
const lateData = 2 * time.Second

// run runs the session until its end.
func (s *Session) run(ctx context.Context) {
	route, err := s.lookup()
	if err != nil {
		s.fail(lookupStatus(err), err)
		return
	}
	s.event("LOOKUP SUCCESS", "")
	s.prepare(route)
	if err := s.connect(ctx); err != nil {
		s.fail(statusOf(err), err)
		return
	}
	if s.Ready != nil {
		if err := s.Ready(); err != nil {
			s.event("ERROR", err.Error())
			s.closeAll()
			return
		}
	}
	if s.Opened != nil {
		opened := s.Opened()
		s.mu.Lock()
		s.source.stream = opened
		s.mu.Unlock()
	}
	s.setStatus(statusConnected)
	s.event("CONNECT", "")
	err = s.move(ctx)
	s.setStatus(statusFinalizing)
	if err != nil && !errors.Is(err, context.Canceled) {
		s.event("ERROR", err.Error())
	}
	s.event("END", "")
}

// lookupStatus returns the status for a client without a route.
func lookupStatus(err error) int {
	switch {
	case errors.Is(err, object.ErrDenied):
		return 403
	case errors.Is(err, object.ErrRewrite):
		return 500
	}
	return 404
}

// lookup returns the route, and applies the rewrites of the rule.
func (s *Session) lookup() (*object.Route, error) {
	if s.Source.Route != nil {
		return s.Source.Route, nil
	}
	route, rewritten, err := object.Lookup(s.Rules, s.Meta)
	if rewritten != nil {
		*s.Meta = *rewritten
	}
	return route, err
}

// prepare makes the stages of the route.
func (s *Session) prepare(route *object.Route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.route = route
	add := func(role string, slot *object.Slot[cluster.Cluster]) {
		s.stages = append(s.stages, &stage{session: s, role: role, slot: slot, retry: route.Retry, status: statusInit})
	}
	destination := s.Destination
	if destination == nil {
		destination = route.Choose()
	}
	add(roleDestination, destination)
	for _, slot := range route.Ingress {
		add(roleIngress, slot)
	}
	for _, slot := range route.Egress {
		add(roleEgress, slot)
	}
}

// connect connects all stages at once.
func (s *Session) connect(ctx context.Context) error {
	if len(s.stages) == 1 {
		return s.stages[0].connect(ctx, s.route.Retry.Connect(), s.route.Retry.Retries())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, g := range s.stages {
		all.Go(func() {
			if err := g.connect(ctx, s.route.Retry.Connect(), s.route.Retry.Retries()); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// fail tells the client that there is no connection.
func (s *Session) fail(status int, err error) {
	s.event("ERROR", err.Error())
	if s.Fail != nil {
		s.Fail(status, err.Error())
	}
	s.closeAll()
	s.event("END", "")
}

func (s *Session) closeAll() {
	_ = s.source.stream.Close() // the session has ended
	for _, g := range s.stages {
		g.close()
	}
}

// move moves data between neighbors of both chains. It returns when both directions have ended, or at the first error.
func (s *Session) move(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, s.closeAll)
	defer stop()
	if idle := s.route.Timeouts.Idle; idle != nil && *idle > 0 {
		go s.endIdle(ctx, cancel, time.Duration(*idle)*time.Millisecond)
	}
	chain := []*stage{s.source}
	for _, g := range s.stages[1:] {
		if g.role == roleIngress {
			chain = append(chain, g)
		}
	}
	chain = append(chain, s.stages[0])
	for _, g := range s.stages[1:] {
		if g.role == roleEgress {
			chain = append(chain, g)
		}
	}
	chain = append(chain, s.source)
	s.warn(chain)
	mirrors := s.startMirrors(ctx)
	var all sync.WaitGroup
	for i, to := range chain[1:] {
		from := chain[i]
		pump := func() {
			if err := s.pump(ctx, to, from, mirrors); err != nil {
				cancel(err)
			}
		}
		if i == len(chain)-2 {
			pump()
			continue
		}
		all.Go(pump)
	}
	all.Wait()
	err := context.Cause(ctx)
	s.closeAll()
	return err
}

// pump moves data from one stage to the next one, and then tells that one that no more data comes.
func (s *Session) pump(ctx context.Context, to, from *stage, mirrors []*stream.Pipe) error {
	count := func(bytes int) {
		if bytes == 0 && !from.side().Messages() {
			return
		}
		s.moved.Add(1)
		switch s.source {
		case from:
			s.Received.Add(int64(bytes))
		case to:
			s.Sent.Add(int64(bytes))
		}
		from.count(bytes, false)
		to.count(bytes, true)
	}
	target := to.side()
	if from == s.source && len(mirrors) > 0 {
		target = tee{target, mirrors}
	}
	err := stream.Copy(target, from.side(), count)
	if from == s.source {
		for _, m := range mirrors {
			_ = m.CloseWrite() // it has no error
		}
	}
	if err != nil {
		return err
	}
	switch err = to.side().CloseWrite(); {
	case !errors.Is(err, stream.ErrNoHalfClose):
		return err
	case to == s.source:
		return io.EOF // the client cannot learn that nothing comes any more, but its next message starts a session
	}
	return s.awaitIdle(ctx)
}

// errIdle is the error of a session in which nothing moves.
var errIdle = errors.New("nothing has moved within the idle timeout of the route")

// endIdle ends the session when nothing has moved for a time.
func (s *Session) endIdle(ctx context.Context, end context.CancelCauseFunc, idle time.Duration) {
	const checks = 4
	tick := time.NewTicker(max(idle/checks, time.Millisecond))
	defer tick.Stop()
	for before, same := s.moved.Load(), 0; same < checks; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.count()
		if now := s.moved.Load(); now != before {
			before, same = now, 0
		} else {
			same++
		}
	}
	end(errIdle)
}

// count makes streams that the kernel moves count what has moved.
func (s *Session) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream.Count(s.source.stream)
	for _, g := range s.stages {
		if g.stream != nil {
			stream.Count(g.stream)
		}
	}
}

// awaitIdle returns when no data moved for a while.
func (s *Session) awaitIdle(ctx context.Context) error {
	tick := time.NewTicker(lateData)
	defer tick.Stop()
	for before := s.moved.Load(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now := s.moved.Load()
		if now == before {
			return io.EOF
		}
		before = now
	}
}
