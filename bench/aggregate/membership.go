package main

import (
	"context"
	"slices"
	"time"
)

// informerCount is the number of informers of client-go that see clusters join and leave.
const informerCount = 8

// membershipResult has the seconds until all stores equal the union.
type membershipResult struct {
	Join  float64 `json:"join_s"`
	Leave float64 `json:"leave_s"`
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
	progress("a cluster joins in %.1f s and leaves in %.1f s", r.Join, r.Leave)
	return nil
}

// during makes a change and events, and returns the seconds until the stores of the informers equal the union.
func (b *bench) during(ctx context.Context, informers []*informer, change func() error) (float64, error) {
	if err := change(); err != nil {
		return 0, err
	}
	begun := time.Now()
	if _, err := b.churn(ctx, b.ours.encrypted(), 50, 25); err != nil {
		return 0, err
	}
	err := b.checkStores(ctx, informers)
	return time.Since(begun).Seconds(), err
}
