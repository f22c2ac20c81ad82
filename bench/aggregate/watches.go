package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// watchCell is a number of watches, and a rate of events.
type watchCell struct {
	name      string
	rate      int // events per second
	seconds   int
	selectors func(i int) (url.Values, func(*podState) bool)
}

func everything(int) (url.Values, func(*podState) bool) {
	return nil, func(*podState) bool { return true }
}

// mixed is a fleet of clients: a tenth has all pods, three tenths those of a namespace, the others those of a node.
func mixed(i int) (url.Values, func(*podState) bool) {
	switch {
	case i%10 == 0:
		return everything(i)
	case i%10 <= 3:
		namespace := fmt.Sprintf("team-%d", i/10%namespaceCount)
		return url.Values{"fieldSelector": {"metadata.namespace=" + namespace}},
			func(p *podState) bool { return p.namespace == namespace }
	}
	node := fmt.Sprintf("node-%d", i*7%nodeCount)
	return url.Values{"fieldSelector": {"spec.nodeName=" + node}}, func(p *podState) bool { return p.node == node }
}

// nodes is a fleet of agents, each for the pods of its node, and a hundredth of clients with all pods.
func nodes(i int) (url.Values, func(*podState) bool) {
	if i%100 == 0 {
		return everything(i)
	}
	node := fmt.Sprintf("node-%d", i%nodeCount)
	return url.Values{"fieldSelector": {"spec.nodeName=" + node}}, func(p *podState) bool { return p.node == node }
}

var watchCells = []watchCell{
	{"all pods", 10, 4, everything},
	{"mixed", 50, 4, mixed},
	{"by node", 500, 2, nodes},
}

// watchResult has the latencies of events in milliseconds, and the CPU of the server for a delivered event in
// microseconds.
type watchResult struct {
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	CPU  float64 `json:"cpu_us_per_delivery"`
	// Rate is the number of events per second that the server reached.
	Rate float64 `json:"events_per_s"`
	// Closed counts the watches that the server closed.
	Closed     int `json:"closed,omitempty"`
	Deliveries int `json:"deliveries"`
}

// watches measures the latency of events at many clients.
func (b *bench) watches(ctx context.Context) error {
	b.result.Watches = map[string]map[string]watchResult{}
	targets := []target{b.ours.encrypted(), b.plain()}
	for _, t := range targets {
		b.result.Watches[t.name] = map[string]watchResult{}
	}
	for _, c := range watchCells {
		watchers := make([][]*watcher, len(targets))
		for i, t := range targets {
			var err error
			if watchers[i], err = newWatchers(ctx, t, b.watchers, c.selectors); err != nil {
				return err
			}
			defer closeAll(watchers[i])
			if err := openAll(ctx, watchers[i], 32); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		b.ours.profile(ctx, b.profiles, "watch-"+c.name, (c.seconds+1)*b.rounds*2)
		rounds := make([][]watchResult, len(targets))
		for range b.rounds {
			for i, t := range targets {
				r, err := b.watchRound(ctx, t, c, watchers[i])
				if err != nil {
					return err
				}
				rounds[i] = append(rounds[i], r)
			}
		}
		for i, t := range targets {
			b.result.Watches[t.name][c.name] = medianWatch(rounds[i])
			closeAll(watchers[i])
			watchers[i] = nil
		}
		ours, theirs := b.result.Watches[targets[0].name][c.name], b.result.Watches[targets[1].name][c.name]
		b.result.WatchRatio = max(b.result.WatchRatio, ours.P99/theirs.P99)
		progress("watches: %s: p99 %.1f ms, kube-apiserver %.1f ms", c.name, ours.P99, theirs.P99)
	}
	return b.checkUnion(ctx, targets[0])
}

// checkUnion is the oracle for lists of the aggregator.
func (b *bench) checkUnion(ctx context.Context, t target) error {
	return eventually(ctx, "oracle", func() error {
		got, err := union(ctx, t)
		if err != nil {
			return err
		}
		return equal("a list of the "+t.name, got, b.want())
	})
}

func (b *bench) watchRound(ctx context.Context, t target, c watchCell, watchers []*watcher) (watchResult, error) {
	if err := reopen(ctx, t, watchers); err != nil {
		return watchResult{}, err
	}
	before, err := t.cpu()
	if err != nil {
		return watchResult{}, err
	}
	begun := time.Now()
	l, err := b.churn(ctx, t, c.rate, c.rate*c.seconds)
	if err != nil {
		return watchResult{}, err
	}
	rate := float64(len(l.pods)) / time.Since(begun).Seconds()
	latencies, closed, err := l.await(ctx, t, watchers)
	if err != nil {
		return watchResult{}, err
	}
	after, err := t.cpu()
	n := len(latencies)
	if n == 0 {
		return watchResult{}, fmt.Errorf("%s: all watches were closed", t.name)
	}
	r := watchResult{P50: percentile(latencies, 50), P99: percentile(latencies, 99), Deliveries: n, Rate: rate, Closed: closed}
	r.P999, r.CPU = latencies[n*999/1000], (after-before)*1e6/float64(n)
	return r, err
}

// churn makes events at random times of a rate. An event of the aggregator begins when the member has it, an event of
// kube-apiserver when the write is answered: the time of the write itself is not counted.
func (b *bench) churn(ctx context.Context, t target, rate, count int) (*load, error) {
	l := &load{first: b.events + 1, at: make([]time.Time, count)}
	begun := time.Now()
	errs := make(chan error, count)
	slots := make(chan struct{}, 16)
	for n := range count {
		time.Sleep(time.Until(begun.Add(time.Duration(n) * time.Second / time.Duration(rate))))
		b.events++
		number := b.events
		m := b.members[rand.IntN(len(b.members))]
		i := rand.IntN(len(m.pods))
		pod := m.pod(i)
		// Writes of a pod at the same time would have any order.
		recent := l.pods[max(len(l.pods)-2*cap(slots), 0):]
		for slices.ContainsFunc(recent, func(p *podState) bool { return p.key() == pod.key() }) {
			i = rand.IntN(len(m.pods))
			pod = m.pod(i)
		}
		l.pods = append(l.pods, pod)
		if t.pid == b.ours.pid {
			l.at[n] = time.Now()
			m.modify(i, number)
			errs <- nil
			continue
		}
		slots <- struct{}{}
		go func() {
			errs <- b.patch(ctx, pod, number)
			l.at[n] = time.Now()
			<-slots
		}()
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	for range count {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	return l, nil
}

// patch makes an event in kube-apiserver.
func (b *bench) patch(ctx context.Context, p *podState, number int) error {
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, sequence, sequenceText(number))
	_, err := b.api.kube.CoreV1().Pods(p.namespace).Patch(ctx, p.name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

func medianWatch(rounds []watchResult) watchResult {
	of := func(f func(watchResult) float64) float64 {
		var values []float64
		for _, r := range rounds {
			values = append(values, f(r))
		}
		return median(values)
	}
	return watchResult{
		P50: of(func(r watchResult) float64 { return r.P50 }), P99: of(func(r watchResult) float64 { return r.P99 }),
		P999: of(func(r watchResult) float64 { return r.P999 }), CPU: of(func(r watchResult) float64 { return r.CPU }),
		Deliveries: rounds[0].Deliveries, Rate: of(func(r watchResult) float64 { return r.Rate }),
		Closed: int(of(func(r watchResult) float64 { return float64(r.Closed) })),
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
