package httpforward

import (
	"errors"
	"io"
	"time"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/h2"
	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/object"
)

// attempt is the state of one request over its attempts.
type attempt struct {
	route *object.Route
	slot  *object.Slot[cluster.Cluster]
	dest  *cluster.Cluster // of the slot
	doc   metadata.Document
	// whole tells that the body is empty or in the input, so that the request can be sent again.
	whole bool
	// once tells that the request must not be sent twice, because its method is not idempotent, or the route says so.
	once bool
	// fresh asks for a new connection, because an idle one was closed by the endpoint.
	fresh bool
	tried []*cluster.Endpoint
	sent  bool // a part of the request was sent
	ended bool // the request does not count any more
	last  bool // there is no further attempt
	limit *deadline
	idle  *deadline // until the response begins; of whole requests
	body  chan error
	head  int // the size of the head for the endpoint
	// kept is what was sent of the body, unless it was lost because it is too long. The goroutine that sends it has both.
	kept []byte
	lost bool
	// unsent is the error of a body that was kept, but not sent.
	unsent error
}

// forward sends the request to an endpoint of the destination, and the response to the client. Meta is the metadata
// after rewrites; nil if there are none.
func (c *conn) forward(
	route *object.Route, slot *object.Slot[cluster.Cluster], dest *cluster.Cluster, meta *metadata.Tree,
) bool {
	a := &c.attempt
	once := route.Retry.Exact || !idempotent(c.request.Method)
	*a = attempt{route: route, slot: slot, dest: dest, doc: c, once: once, tried: a.tried[:0]}
	if meta != nil {
		a.doc = meta
	}
	a.whole = !c.request.Chunked && c.request.Length <= int64(c.w-c.r)
	if err := c.checkChunks(); err != nil {
		return c.fail(400, err.Error())
	}
	if err := c.writeRequest(meta); err != nil {
		return c.fail(500, err.Error())
	}
	head := len(c.out)
	c.info.written = true
	a.head, a.lost = head, route.Retry.Retries() == 0
	if a.whole && c.request.Length > 0 {
		c.out = append(c.out, (*c.in)[c.r:c.r+int(c.request.Length)]...)
		c.r += int(c.request.Length)
	}
	c.info.received.Store(max(0, c.request.Length))
	if len(route.Mirrors) > 0 && a.whole && !c.wantsTunnel() {
		c.s.copyTo(route.Chosen(), c.out, c.base)
	}
	dest.Sessions.Add(1)
	a.limit = c.deadline(route.Timeouts.Request)
	if err := dest.EnterRequest(a.limit.within(0)); err != nil {
		a.limit.stop()
		dest.Failed.Add(1)
		if errors.Is(err, cluster.ErrOverflow) {
			return c.failed(flagOverflow, 503, err.Error())
		}
		return c.failed(flagTimeout, 504, err.Error())
	}
	defer a.leave()
	defer a.limit.stop()
	if idle := route.Timeouts.Idle; idle != nil && a.whole {
		a.idle = c.deadline(*idle)
		defer a.idle.stop()
	}
	retries := 0
	for {
		a.last = retries >= route.Retry.Retries()
		err := c.try(a, head)
		if err == nil {
			return true
		}
		if c.started || c.over.Load() || errors.Is(err, errClient) {
			return false
		}
		if c.stalled.Load() || a.idle.isOver() {
			a.dest.Failed.Add(1)
			return c.failed(flagIdle, 504, "nothing has moved within the idle timeout of the route")
		}
		if a.limit.isOver() {
			a.dest.Failed.Add(1)
			return c.failed(flagTimeout, 504, "the request takes longer than the timeout of its route")
		}
		if a.fresh {
			continue // the endpoint had closed an idle connection; this is no failure of the endpoint
		}
		if a.last || !a.mayRetry(err) || retries == 0 && !dest.Retry() {
			a.dest.Failed.Add(1)
			return c.failed(a.flagOf(err), statusOf(err), err.Error())
		}
		if retries == 0 {
			defer dest.EndRetry()
		}
		retries++
		c.info.retries.Add(1)
		c.s.Stats.Retries.Add(1)
		a.chooseAgain()
		if !a.dest.Untried(a.tried) && !c.pause(a.limit.within(route.Retry.Wait(retries))) {
			return false
		}
	}
}

// try makes one attempt. The output of the connection is the head, and the body if the request is whole.
func (c *conn) try(a *attempt, head int) error {
	if c.over.Load() {
		return errClient // a client that resets a stream at once costs the endpoints nothing
	}
	e, err := a.dest.Pick(a.doc, a.tried)
	if err != nil {
		return err
	}
	fresh := a.fresh
	a.fresh, a.sent = false, false
	if !fresh {
		a.tried = append(a.tried, e)
	}
	u, err := c.connect(a, e, fresh)
	if err != nil {
		a.dest.Report(e, false)
		return err
	}
	c.info.to(a.dest, e)
	e.Active.Add(1)
	c.upstream.Store(u)
	in := reader{upstream: u}
	defer func() {
		c.upstream.Store(nil)
		e.Active.Add(-1)
		leftover := len(in.unread()) > 0
		in.release()
		u.served++
		if most := a.dest.Limits.RequestsPerConnection; u.closed || leftover || u.once || most > 0 && u.served >= most {
			_ = u.Close() // the response was read, or the endpoint is at fault
			return
		}
		u.used = true
		e.Put(u)
	}()
	a.sent = true
	limit := c.deadline(a.route.Timeouts.Attempt)
	defer limit.stop()
	if !a.whole {
		if err := c.startBody(a, u, head); err != nil {
			u.closed = true
			return err
		}
	} else if _, err := u.Write(c.out); err != nil {
		u.closed = true
		a.fresh = u.used && !a.once || !fresh && errors.Is(err, h2.ErrNotProcessed)
		return err
	}
	err = c.answer(a, &in, limit)
	if err != nil && limit.isOver() && !c.started {
		err = errAttempt
	}
	if err != nil {
		u.closed = true
		var wait time.Duration
		if route := a.route; route.Retry.Reset && !a.last {
			wait = linger
		}
		c.complete(a, wait)
		untouched := u.used && !in.received && !a.once || errors.Is(err, h2.ErrNotProcessed)
		a.fresh = !fresh && a.whole && !limit.isOver() && untouched
		if a.body != nil {
			c.unread = true
			select {
			case sent := <-a.body:
				if refused := (*badBody)(nil); errors.As(sent, &refused) {
					return refused
				}
			default:
			}
		}
	} else if a.body != nil && !c.bodySent(a) {
		c.unread, u.closed = true, true
	}
	if !a.fresh && !errors.Is(err, errClient) {
		a.dest.Report(e, err == nil && c.response.Status < 500)
	}
	return err
}

// linger is how long the rest of a body is forwarded after the response.
const linger = time.Second

// bodySent reports whether the whole body was sent.
func (c *conn) bodySent(a *attempt) bool {
	limit := time.NewTimer(linger)
	defer limit.Stop()
	select {
	case err := <-a.body:
		return err == nil
	case <-limit.C:
		return false
	}
}

// answer reads the response and sends it to the client.
func (c *conn) answer(a *attempt, in *reader, limit *deadline) error {
	for interim := 0; ; interim++ {
		if err := c.readResponse(in); err != nil {
			return err
		}
		status := c.response.Status
		if status == 101 {
			return c.tunnel(in)
		}
		if status >= 200 {
			break
		}
		if interim == maxInterim {
			return &http1.Error{Status: 502, Text: "the endpoint sends too many interim responses"}
		}
		if status == 100 || c.request.Minor == 0 {
			continue // the client has its own 100 Continue
		}
		c.writeInterim()
		if _, err := c.client.Write(c.reply); err != nil {
			return errClient
		}
	}
	limit.stop()
	a.idle.stop()
	if err := c.again(a); err != nil {
		return err
	}
	return c.sendResponse(in)
}

// maxInterim limits the interim responses (1xx) to a request.
const maxInterim = 16

// responseLimits are those of endpoints.
var responseLimits = http1.Limits{Head: 256 << 10, Fields: 500}

// readResponse reads the head of a response.
func (c *conn) readResponse(in *reader) error {
	for seen := 0; ; {
		if data := in.unread(); len(data) > seen {
			size, err := c.response.Parse(data, seen, responseLimits)
			if err != nil {
				return err
			}
			if size > 0 {
				if c.s.Ended() != nil {
					c.info.reply = append(c.info.reply[:0], data[:size]...)
				}
				in.r += size
				return nil
			}
			seen = len(data)
		}
		if err := in.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				return errors.New("the endpoint closed the connection before its response")
			}
			return err
		}
	}
}
