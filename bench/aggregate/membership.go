package main

import (
	"context"
	"os"
	"slices"
	"time"
)

// informerCount is the number of informers of client-go that see clusters join and leave.
const informerCount = 8

// membershipResult has what it takes until all stores equal the union. A cluster that leaves makes each informer list
// again: the clients decode all pods, on the same processors.
type membershipResult struct {
	Join  changeResult `json:"join"`
	Leave changeResult `json:"leave"`
}

// changeResult is the cost of a change, in seconds.
type changeResult struct {
	// Cache is the time until the aggregator has as many pods as the union, Informers the time until all informers do.
	Cache     float64 `json:"cache_s"`
	Informers float64 `json:"informers_s"`
	// CPU is that of the aggregator, Clients that of this process, which has the informers and the virtual clusters.
	CPU     float64 `json:"cpu_s"`
	Clients float64 `json:"clients_cpu_s"`
}

// membership measures clusters that join and leave during changes. Clusters are probed once a second.
func (b *bench) membership(ctx context.Context) error {
	t := b.ours.encrypted()
	var informers []*informer
	for range informerCount {
		i, err := newInformer(ctx, t)
		if err != nil {
			return err
		}
		defer i.stop()
		informers = append(informers, i)
	}
	if err := b.checkStores(ctx, informers); err != nil {
		return err
	}
	copies, err := multiply(b.corpus[:min(1000, b.pods)], 2)
	if err != nil {
		return err
	}
	var pods []*podState
	for _, raw := range copies[len(copies)/2:] {
		p, err := newPodState(raw)
		if err != nil {
			return err
		}
		pods = append(pods, p)
	}
	extra := newMember("member-extra", pods)
	defer extra.stop()
	before := b.members
	r := &membershipResult{}
	if r.Join, err = b.during(ctx, informers, func() error {
		b.members = slices.Concat(before, []*member{extra})
		return b.ours.join(ctx, extra)
	}); err != nil {
		return err
	}
	if r.Leave, err = b.during(ctx, informers, func() error {
		b.members = before
		return b.ours.leave(ctx, extra.name)
	}); err != nil {
		return err
	}
	b.result.Membership = r
	progress("a cluster joins in %.1f s and leaves in %.1f s", r.Join.Informers, r.Leave.Informers)
	return nil
}

// during makes a change and events, and waits until the aggregator and the informers have the union.
func (b *bench) during(ctx context.Context, informers []*informer, change func() error) (changeResult, error) {
	var r changeResult
	used := func() (ours, clients float64, err error) {
		if ours, err = b.ours.cpu(); err == nil {
			clients, err = process{os.Getpid()}.cpu()
		}
		return ours, clients, err
	}
	ours, clients, err := used()
	if err != nil {
		return r, err
	}
	if err := change(); err != nil {
		return r, err
	}
	begun := time.Now()
	if _, err := b.churn(ctx, b.ours.encrypted(), 50, 25); err != nil {
		return r, err
	}
	if err := b.ours.await(ctx, len(b.want())); err != nil {
		return r, err
	}
	r.Cache = time.Since(begun).Seconds()
	if err := b.checkStores(ctx, informers); err != nil {
		return r, err
	}
	r.Informers = time.Since(begun).Seconds()
	oursAfter, clientsAfter, err := used()
	r.CPU, r.Clients = oursAfter-ours, clientsAfter-clients
	return r, err
}
