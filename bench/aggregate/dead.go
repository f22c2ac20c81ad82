package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// deadResult compares the aggregator while one of ten clusters does not answer with the time before. Times are 99th
// percentiles in milliseconds, and medians of the rounds.
type deadResult struct {
	List       float64 `json:"list_p99_ms"`
	ListDead   float64 `json:"list_dead_p99_ms"`
	ListRatio  float64 `json:"list_ratio"`
	Watch      float64 `json:"watch_p99_ms"`
	WatchDead  float64 `json:"watch_dead_p99_ms"`
	WatchRatio float64 `json:"watch_ratio"`
}

// deadCluster measures lists, and events of the other clusters, while the network of a cluster transmits nothing.
func (b *bench) deadCluster(ctx context.Context) error {
	t := b.ours.encrypted()
	watchers, err := newWatchers(ctx, t, min(b.watchers, 100), everything)
	if err != nil {
		return err
	}
	defer closeAll(watchers)
	if err := openAll(ctx, watchers, 32); err != nil {
		return err
	}
	var rounds []deadResult
	all := b.members
	for round := range b.rounds {
		var r deadResult
		for phase := range 2 {
			// Every other round begins with the failure, so that other load of the machine does not count for one side.
			dead := phase != round%2
			if dead {
				all[0].setDead(true)
				b.members = all[1:]
			}
			list, event, err := b.loadRound(ctx, t, watchers)
			b.members = all
			all[0].setDead(false)
			if err != nil {
				return fmt.Errorf("dead cluster %t: %w", dead, err)
			}
			if dead {
				r.ListDead, r.WatchDead = list, event
			} else {
				r.List, r.Watch = list, event
			}
		}
		r.ListRatio, r.WatchRatio = r.ListDead/r.List, r.WatchDead/r.Watch
		rounds = append(rounds, r)
	}
	of := func(f func(deadResult) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, f(r))
		}
		return median(values)
	}
	b.result.Dead = &deadResult{
		List:       of(func(r deadResult) float64 { return r.List }),
		ListDead:   of(func(r deadResult) float64 { return r.ListDead }),
		ListRatio:  of(func(r deadResult) float64 { return r.ListRatio }),
		Watch:      of(func(r deadResult) float64 { return r.Watch }),
		WatchDead:  of(func(r deadResult) float64 { return r.WatchDead }),
		WatchRatio: of(func(r deadResult) float64 { return r.WatchRatio }),
	}
	b.result.DeadRatio = max(b.result.Dead.ListRatio, b.result.Dead.WatchRatio)
	progress("dead cluster: lists %.2f, events %.2f times", b.result.Dead.ListRatio, b.result.Dead.WatchRatio)
	return b.checkUnion(ctx, t)
}

// loadRound makes events and lists at the same time, and returns the 99th percentiles of their times.
func (b *bench) loadRound(ctx context.Context, t target, watchers []*watcher) (list, event float64, err error) {
	type result struct {
		*load
		error
	}
	done := make(chan result)
	go func() {
		l, err := b.churn(ctx, t, 50, 150)
		done <- result{l, err}
	}()
	c, err := t.client()
	if err != nil {
		return 0, 0, err
	}
	defer c.CloseIdleConnections()
	cell := listCell{name: "label of 1 %", query: url.Values{"labelSelector": {"rare=yes"}}}
	var times []float64
	for {
		select {
		case r := <-done:
			if r.error != nil {
				return 0, 0, r.error
			}
			latencies, _, err := r.await(ctx, t, watchers)
			if err != nil {
				return 0, 0, err
			}
			return percentile(times, 99), percentile(latencies, 99), nil
		case <-time.After(10 * time.Millisecond):
		}
		begun := time.Now()
		_, rows, err := readList(ctx, c, t.url, cell)
		if err == nil && rows != b.pods/rareEvery {
			err = fmt.Errorf("the list has %d pods, not %d", rows, b.pods/rareEvery)
		}
		if err != nil {
			return 0, 0, errors.Join(err, (<-done).error)
		}
		times = append(times, time.Since(begun).Seconds()*1000)
	}
}
