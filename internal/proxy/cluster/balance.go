package cluster

import (
	"math/rand/v2"
	"slices"
	"sort"
	"sync/atomic"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// hasher is a balancer that uses the hash.
type hasher interface{ usesHash() }

func newBalancer(p config.Policy, all []*Endpoint) balancer {
	switch p {
	case config.RoundRobin:
		return newRoundRobin(all, func(e *Endpoint) int { return e.Weight })
	case config.EqualRoundRobin:
		return newRoundRobin(all, func(*Endpoint) int { return 1 })
	case config.Random:
		return newWeighted(all)
	case config.LeastRequest:
		return leastRequest{newWeighted(all)}
	case config.HashRing, config.ConsistentHash:
		return newRing(all)
	case config.Maglev:
		return newMaglev(all)
	}
	return list(all)
}

// list chooses the first endpoint.
type list []*Endpoint

func (l list) pick(_ uint64, tried []*Endpoint) *Endpoint {
	for _, e := range l {
		if !slices.Contains(tried, e) {
			return e
		}
	}
	return nil
}

// roundRobin goes through a sequence in which each endpoint is as often as its weight says, evenly distributed.
type roundRobin struct {
	sequence []*Endpoint
	next     atomic.Uint64
}

// maxSequence limits the length of the sequence. Weights are scaled to it.
const maxSequence = 4096

func newRoundRobin(all []*Endpoint, weight func(*Endpoint) int) *roundRobin {
	total, divisor := 0, 0
	for _, e := range all {
		total += weight(e)
		divisor = gcd(weight(e), divisor)
	}
	r := &roundRobin{}
	if total == 0 {
		return r
	}
	// Smooth weighted round robin, as in nginx: the endpoint with the most credit is next, and pays the total.
	steps := min(total/divisor, max(maxSequence, len(all)))
	credit := make([]int, len(all))
	for range steps {
		best := -1
		for i, e := range all {
			credit[i] += weight(e)
			if weight(e) > 0 && (best < 0 || credit[i] > credit[best]) {
				best = i
			}
		}
		credit[best] -= total
		r.sequence = append(r.sequence, all[best])
	}
	return r
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (r *roundRobin) pick(_ uint64, tried []*Endpoint) *Endpoint {
	for range r.sequence {
		e := r.sequence[(r.next.Add(1)-1)%uint64(len(r.sequence))]
		if !slices.Contains(tried, e) {
			return e
		}
	}
	return nil
}

// weighted chooses an endpoint at random, by weight.
type weighted struct {
	all []*Endpoint
	sum []int // of the weights up to the endpoint
}

func newWeighted(all []*Endpoint) weighted {
	w := weighted{}
	total := 0
	for _, e := range all {
		if e.Weight > 0 {
			total += e.Weight
			w.all, w.sum = append(w.all, e), append(w.sum, total)
		}
	}
	return w
}

func (w weighted) pick(_ uint64, tried []*Endpoint) *Endpoint {
	if len(w.all) == 0 {
		return nil
	}
	at := sort.SearchInts(w.sum, 1+rand.IntN(w.sum[len(w.sum)-1]))
	for i := range w.all {
		if e := w.all[(at+i)%len(w.all)]; !slices.Contains(tried, e) {
			return e
		}
	}
	return nil
}

// leastRequest chooses of two random endpoints the less busy one, in relation to their weights.
type leastRequest struct{ weighted }

func (l leastRequest) pick(hash uint64, tried []*Endpoint) *Endpoint {
	a, b := l.weighted.pick(hash, tried), l.weighted.pick(hash, tried)
	if a == b || a.Active.Load()*int64(b.Weight) <= b.Active.Load()*int64(a.Weight) {
		return a
	}
	return b
}
