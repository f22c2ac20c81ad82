package xds

import (
	"sync/atomic"

	"google.golang.org/grpc/codes"
)

// Costs of the parts of a subscription, in bytes. Names of published resources are shared, and cost little.
const (
	typeCost        = 1 << 10
	collectionCost  = 64
	namedCost       = 8
	placeholderCost = 384
)

// subscriptionBudget limits the memory for the subscriptions of one identity: names, types and collections of all its
// streams. Its methods are safe for concurrent use. A nil budget has no limit.
type subscriptionBudget struct {
	limit int64
	used  atomic.Int64
	total *atomic.Int64 // of all identities
}

func (b *subscriptionBudget) add(n int) {
	if b != nil {
		b.used.Add(int64(n))
		b.total.Add(int64(n))
	}
}

func (b *subscriptionBudget) exceeded() bool { return b != nil && b.used.Load() > b.limit }

func (b *subscriptionBudget) refusal() error {
	return refuse(reasonSubscriptionSize, codes.ResourceExhausted,
		"the subscriptions of this client take more than %d bytes; subscribe to fewer names", b.limit)
}

// errCut closes the streams of the identity with the largest subscriptions.
var errCut = refuse(reasonSubscriptionSize, codes.ResourceExhausted,
	"the subscriptions of all clients take too many bytes, and those of this client most; subscribe to fewer names")
