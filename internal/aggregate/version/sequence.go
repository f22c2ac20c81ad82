package version

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Integers have the time of their issue in units of 10 µs since 2024, in 47 bits, and in the lowest bits the replica.
// They are less than 2^63 until the year 2068. A replica can issue 100 000 integers a second without being ahead of
// its clock.
const (
	replicaBits  = 16
	sequenceUnit = 10 * time.Microsecond
	// issuedFrom is less than all issued integers, and more than the versions of API servers, which count writes.
	issuedFrom = 1 << 54
)

var sequenceEpoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// Sequence issues increasing integers. Those of a replica that restarts are greater than those before, and those of
// two replicas differ.
type Sequence struct {
	replica uint64
	// clock is the time since the epoch. It never goes back.
	clock func() time.Duration

	mutex sync.Mutex
	last  uint64
}

// NewSequence returns a sequence with a replica number of its own. The number is random: two of n replicas have the
// same one with a probability of about n²/2^17.
func NewSequence() *Sequence {
	began := time.Now()
	return &Sequence{replica: rand.Uint64N(1 << replicaBits), clock: func() time.Duration {
		return began.Sub(sequenceEpoch) + time.Since(began)
	}}
}

// Next returns the next integer.
func (s *Sequence) Next() uint64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.last = max(uint64(s.clock()/sequenceUnit), s.last+1)
	return s.last<<replicaBits | s.replica
}

// Has reports whether an integer can be of this sequence.
func (s *Sequence) Has(n uint64) bool { return n&(1<<replicaBits-1) == s.replica }

// IsIssued reports whether a text is an integer of any sequence, and not the version of an API server.
func IsIssued(text string) bool {
	n, err := Number(text)
	return err == nil && n >= issuedFrom
}
