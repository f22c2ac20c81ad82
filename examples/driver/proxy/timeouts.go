package proxy

import (
	"context"
	"io"
	"time"

	"anymesh.dev/anymesh/model"
)

// limits are the timeouts of a request.
type limits struct {
	cancel context.CancelFunc
	idle   *time.Timer // nil without a limit
	after  time.Duration
}

// limit returns a context that ends at the timeouts, and their timers.
func limit(ctx context.Context, t model.Timeouts) (context.Context, *limits) {
	l := &limits{after: time.Duration(t.Idle)}
	if t.Request > 0 {
		ctx, l.cancel = context.WithTimeout(ctx, time.Duration(t.Request))
	} else {
		ctx, l.cancel = context.WithCancel(ctx)
	}
	if l.after > 0 {
		l.idle = time.AfterFunc(l.after, l.cancel)
	}
	return ctx, l
}

func (l *limits) end() {
	if l.idle != nil {
		l.idle.Stop()
	}
	l.cancel()
}

// watch returns a body whose reads are activity.
func (l *limits) watch(body io.ReadCloser) io.ReadCloser { return watched{body, l} }

type watched struct {
	io.ReadCloser
	limits *limits
}

// Read implements io.Reader.
func (w watched) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if w.limits.idle != nil && n > 0 {
		w.limits.idle.Reset(w.limits.after)
	}
	return n, err
}
