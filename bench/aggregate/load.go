package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// load makes events of pods at a rate, and says which pod and when.
type load struct {
	pods []*podState
	at   []time.Time
	// first is the number of the first event.
	first int
}

// await waits until each client has all events that it selects, and returns the latencies in milliseconds. It is an
// error if a client gets another event, or the events of a pod in another order. Watches that kube-apiserver closes,
// because their clients are too slow for it, are counted.
func (l *load) await(ctx context.Context, t target, watchers []*watcher) ([]float64, int, error) {
	who := t.name
	var latencies []float64
	closed := 0
	got := make([][]arrival, len(watchers))
	want := make([]int, len(watchers))
	for i, w := range watchers {
		for _, p := range l.pods {
			if w.selects(p) {
				want[i]++
			}
		}
	}
	var ended error
	err := eventually(ctx, who+": events are lost", func() error {
		for i, w := range watchers {
			arrivals, end := w.take()
			if got[i] = append(got[i], arrivals...); len(got[i]) < want[i] {
				err := fmt.Errorf("watch %d has %d events, not %d", i, len(got[i]), want[i])
				switch {
				case end == nil:
					return err
				case t.strict:
					ended = fmt.Errorf("%s: %w, and ended: %w", who, err, end)
					return nil
				}
				want[i] = len(got[i])
				closed++
			}
		}
		return nil
	})
	if err = errors.Join(err, ended); err != nil {
		return nil, closed, err
	}
	for i, w := range watchers {
		last := map[string]int{}
		if len(got[i]) != want[i] {
			return nil, closed, fmt.Errorf("%s: watch %d has %d events, not %d", who, i, len(got[i]), want[i])
		}
		for _, a := range got[i] {
			n := a.event - l.first
			if n < 0 || n >= len(l.pods) || !w.selects(l.pods[n]) {
				return nil, closed, fmt.Errorf("%s: watch %d has event %d of a pod that it does not select", who, i, a.event)
			}
			key := l.pods[n].key()
			if before, ok := last[key]; ok && before >= n {
				return nil, closed, fmt.Errorf("%s: watch %d has event %d of %s after event %d", who, i, n, key, before)
			}
			last[key] = n
			latencies = append(latencies, max(a.at.Sub(l.at[n]).Seconds()*1000, 0))
		}
	}
	return latencies, closed, nil
}
