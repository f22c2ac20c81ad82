package main

import (
	"context"
	"fmt"
	"time"
)

// reconnectResult is the cost of clients that lose their connections at the same time.
type reconnectResult struct {
	// Seconds is the time until all watches are open again, CPU that of the server.
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_s"`
	// Expired counts the watches that could not resume from their last version.
	Expired int `json:"expired"`
}

// reconnects closes all connections of many watches, and opens them again from the last version that each client has.
// Some events happen before and between.
func (b *bench) reconnects(ctx context.Context) error {
	b.result.Reconnects = map[string]reconnectResult{}
	for _, t := range []target{b.ours.encrypted(), b.plain()} {
		r, err := b.reconnect(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		b.result.Reconnects[t.name] = r
		progress("%d watches reconnect to the %s in %.1f s", b.watchers, t.name, r.Seconds)
	}
	return nil
}

func (b *bench) reconnect(ctx context.Context, t target) (r reconnectResult, err error) {
	watchers, err := newWatchers(ctx, t, b.watchers, everything)
	if err != nil {
		return r, err
	}
	defer closeAll(watchers)
	if err := openAll(ctx, watchers, 32); err != nil {
		return r, err
	}
	l, err := b.churn(ctx, t, 10, 5)
	if err != nil {
		return r, err
	}
	if _, _, err := l.await(ctx, t, watchers); err != nil {
		return r, err
	}
	// A bookmark follows an event of the aggregator after half a second: from its version a watch can resume.
	time.Sleep(2 * time.Second)
	closeAll(watchers)
	if l, err = b.churn(ctx, t, 10, 5); err != nil {
		return r, err
	}
	before, err := t.cpu()
	if err != nil {
		return r, err
	}
	begun := time.Now()
	if err := openAll(ctx, watchers, len(watchers)); err != nil {
		return r, err
	}
	r.Seconds = time.Since(begun).Seconds()
	if _, _, err := l.await(ctx, t, watchers); err != nil {
		return r, err
	}
	after, err := t.cpu()
	r.CPU = after - before
	for _, w := range watchers {
		r.Expired += w.gone
	}
	return r, err
}
