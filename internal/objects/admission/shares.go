package admission

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// The reviews of API servers have a share of their own, which nobody else can use. Addresses of API servers have no
// limits one by one. Sizes are in bytes. An object has at most 3 MiB as JSON, and a review has the old and the new one.
const (
	// MaxBody is the maximum size of a review.
	MaxBody       = 3 << 20
	MaxServerBody = 7 << 20
	// MaxValues is the maximum number of JSON values in a review, as shapeOf counts them. The decoder makes structures of
	// up to 1 KiB from two characters.
	MaxValues       = 8 << 10
	MaxServerValues = 192 << 10
	// MaxReviews is the maximum number of reviews that are read, handled or waiting at once. Further ones are refused.
	MaxReviews          = 256
	MaxReviewsPerSource = 64
	MaxServerReviews    = 1024
	// MaxBodies is the maximum size of the bodies of these reviews. Further ones wait for up to shareWait.
	MaxBodies          = 8 << 20
	MaxBodiesPerSource = 4 << 20
	MaxServerBodies    = 16 << 20
	// MaxDecoded is the maximum size of the reviews that are evaluated, as decodedSize estimates it. Further ones wait for
	// up to shareWait. A review that is larger is evaluated alone.
	MaxDecoded       = 16 << 20
	MaxServerDecoded = 32 << 20
	// MaxWaiting is the maximum number of reviews that wait for the cache. Further ones are answered at once, and so are
	// those that are larger than MaxWaitingDecoded.
	MaxWaiting          = 32
	MaxWaitingPerSource = 16
	MaxServerWaiting    = 512
	MaxWaitingDecoded   = 1 << 20
	// shareWait is how long a review waits for others to end.
	shareWait = 2 * time.Second
)

// maxEvaluated is the maximum number of reviews of others that are evaluated at once: half of the processors have time
// for those of API servers, of which maxServerEvaluated are evaluated.
func maxEvaluated() int { return max(1, runtime.GOMAXPROCS(0)/2) }

const maxServerEvaluated = 64

// errBusy means that a limit is reached.
var errBusy = errors.New("too many reviews are handled at once")

// limits are the limits of a share. Those of a source are 0 if it has none.
type limits struct {
	body                   int64
	values                 int
	reviews, sourceReviews int
	waiting, sourceWaiting int
	bodies, sourceBodies   int64
	decoded                int64
	waitingDecoded         int64
	evaluated              int
}

// share counts what the reviews of a class of clients use.
type share struct {
	limits          limits
	bodies, decoded *semaphore.Weighted
	evaluated       chan struct{}
	// bytes limits the bodies, time the evaluation in microseconds.
	bytes, time *rateLimits

	mu      sync.Mutex
	all     usage
	sources map[string]usage
}

// usage is what is counted by source.
type usage struct {
	reviews, waiting int
	bodies           int64
}

func newShare(l limits) *share {
	return &share{
		limits: l, bodies: semaphore.NewWeighted(l.bodies), decoded: semaphore.NewWeighted(l.decoded),
		evaluated: make(chan struct{}, l.evaluated), sources: map[string]usage{},
	}
}

// otherShare is the share of clients that are not known as API servers, serverShare that of API servers.
func otherShare() *share {
	s := newShare(limits{
		body: MaxBody, values: MaxValues, waitingDecoded: MaxWaitingDecoded,
		reviews: MaxReviews, sourceReviews: MaxReviewsPerSource, waiting: MaxWaiting, sourceWaiting: MaxWaitingPerSource,
		bodies: MaxBodies, sourceBodies: MaxBodiesPerSource, decoded: MaxDecoded, evaluated: maxEvaluated(),
	})
	s.bytes = newRateLimits(MaxBytesPerSecond, MaxBytesBurst, MaxBytesPerSecondPerSource, MaxBytesBurstPerSource)
	s.time = newRateLimits(int(MaxTimePerSecond.Microseconds()), int(MaxTimeBurst.Microseconds()),
		int(MaxTimePerSecondPerSource.Microseconds()), int(MaxTimeBurstPerSource.Microseconds()))
	return s
}

func serverShare() *share {
	return newShare(limits{
		body: MaxServerBody, values: MaxServerValues, waitingDecoded: math.MaxInt64,
		reviews: MaxServerReviews, waiting: MaxServerWaiting, bodies: MaxServerBodies, decoded: MaxServerDecoded,
		evaluated: maxServerEvaluated,
	})
}

// add adds to the usage of a source. It reports false, and adds nothing, if a limit is exceeded.
func (s *share) add(source string, more usage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, own, l := s.all.plus(more), s.sources[source].plus(more), s.limits
	over := func(n, limit int) bool { return limit > 0 && n > limit }
	switch {
	case more.reviews > 0 && (over(all.reviews, l.reviews) || over(own.reviews, l.sourceReviews)),
		more.waiting > 0 && (over(all.waiting, l.waiting) || over(own.waiting, l.sourceWaiting)),
		more.bodies > 0 && over(int(own.bodies), int(l.sourceBodies)):
		return false
	}
	s.all, s.sources[source] = all, own
	if own == (usage{}) {
		delete(s.sources, source)
	}
	return true
}

func (u usage) plus(v usage) usage {
	return usage{u.reviews + v.reviews, u.waiting + v.waiting, u.bodies + v.bodies}
}

func (u usage) negative() usage { return usage{-u.reviews, -u.waiting, -u.bodies} }
