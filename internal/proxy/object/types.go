package object

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"time"

	"anymesh.dev/anymesh/internal/proxy/bucket"
	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/predicate"
)

// RuleList is a list of rules. It is not changed: a change makes a new one.
type RuleList struct {
	Name  string
	Auto  bool // the name is generated
	Rules []*Slot[Rule]
	slot  *Slot[RuleList]
	hosts []hostRules
	// byHost has the rule lists of hosts in lower case.
	byHost map[string]*Slot[RuleList]
}

// Rule is a condition and an action.
type Rule struct {
	Name    string
	Auto    bool
	Match   any // as configured
	matches predicate.Predicate
	Rewrite []config.Rewrite
	paths   []metadata.Path
	// patterns are those of the rewrites; nil without one.
	patterns []*regexp.Regexp
	Route    *Slot[Route]
	Apply    *Slot[RuleList]
	Deny     bool
	Redirect *config.Redirect
}

// Route says where a session goes.
type Route struct {
	Name            string
	Auto            bool
	Destinations    []Destination // at least one
	Ingress, Egress []*Slot[cluster.Cluster]
	Retry           config.Retry
	Timeouts        config.Timeouts
	Mirrors         []Mirror
	Metrics         *config.RouteMetrics
	Rate            *config.RequestRate
	tokens          *bucket.Bucket
}

// Admits reports whether the rate of the route allows another request.
func (r *Route) Admits() bool { return r.Rate == nil || r.tokens.Take(time.Now()) }

// Destination is a cluster that gets a share of what a route gets.
type Destination struct {
	*Slot[cluster.Cluster]
	Weight int
	// sum is that of the weights up to this one.
	sum int
}

// SetDestinations sets the clusters that share what the route gets, of which one has a weight above 0.
func (r *Route) SetDestinations(all ...Destination) {
	total := 0
	for i := range all {
		total += all[i].Weight
		all[i].sum = total
	}
	r.Destinations = all
}

// Choose returns the cluster of a request or a session.
func (r *Route) Choose() *Slot[cluster.Cluster] {
	last := len(r.Destinations) - 1
	if last == 0 {
		return r.Destinations[0].Slot
	}
	at := rand.IntN(r.Destinations[last].sum)
	return r.Destinations[slices.IndexFunc(r.Destinations, func(d Destination) bool { return at < d.sum })].Slot
}

// Again returns the cluster of a further attempt: the one of the attempt before, unless the route may choose another.
func (r *Route) Again(before *Slot[cluster.Cluster]) *Slot[cluster.Cluster] {
	if r.Retry.OtherCluster {
		return r.Choose()
	}
	return before
}

// Mirror is a cluster that gets a copy of what clients send.
type Mirror struct {
	Destination *Slot[cluster.Cluster]
	// Percent is the share that is copied.
	Percent int
}

// Chosen returns the clusters that get a copy of a request or a session.
func (r *Route) Chosen() []*Slot[cluster.Cluster] {
	var out []*Slot[cluster.Cluster]
	for _, m := range r.Mirrors {
		if m.Percent == 100 || rand.IntN(100) < m.Percent {
			out = append(out, m.Destination)
		}
	}
	return out
}

// Store holds all objects. Reading of sessions takes no lock.
type Store struct {
	// Check makes health checks, until the context ends; nil if there are none.
	Check   cluster.Check
	Context context.Context

	mu        sync.Mutex
	ruleLists table[RuleList]
	rules     table[Rule]
	routes    table[Route]
	clusters  table[cluster.Cluster]
	endpoints map[string]*cluster.Cluster // by name of the endpoint
	counters  map[string]int              // of generated names, by class
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{
		ruleLists: table[RuleList]{}, rules: table[Rule]{}, routes: table[Route]{}, clusters: table[cluster.Cluster]{},
		endpoints: map[string]*cluster.Cluster{}, counters: map[string]int{},
	}
}

// ErrNoRoute is the error of a lookup for which no rule with an existing route matches.
var ErrNoRoute = errors.New("No route for session")

// RedirectError is the error of a lookup whose client goes to another place.
type RedirectError struct{ To *config.Redirect }

func (e *RedirectError) Error() string {
	return "a rule redirects to " + e.To.Scheme + "://" + e.To.Host
}

// ErrDenied is the error of a lookup that a rule denies.
var ErrDenied = errors.New("a rule denies it")

// maxApply limits how often rules apply other rule lists in one lookup.
const maxApply = 64

func (l *RuleList) match(d metadata.Document) *Rule {
	for _, slot := range l.Rules {
		if r := slot.Get(); r != nil && r.matches(d) {
			return r
		}
	}
	return nil
}
