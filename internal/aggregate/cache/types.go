// Package cache keeps the objects of member clusters and merges them. Lists and watches of member API servers come in;
// merged GET, LIST and WATCH results with global resource versions go out, as JSON.
package cache

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ClusterAnnotation names the cluster of an object.
const ClusterAnnotation = "resource.karmada.io/cached-from-cluster"

// Doer sends requests to a member's API server. An http.Client is one.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// Member is a member cluster.
type Member struct {
	Name string
	// Identity is the uid of the cluster's namespace kube-system. It must be known.
	Identity string
	// Host is the URL of the API server, such as https://10.0.0.1:6443.
	Host string
	// Client authenticates requests. It is a pointer, and must not have a timeout, because watches are long.
	Client Doer
	// Late is true for a cluster that joined after the start of the process: no client had its objects before, so that
	// requests do not wait for its first list. It counts when a kind of the cluster is new.
	Late bool
}

// Scope is the part of a kind that the cache reads from a cluster.
type Scope struct {
	Cluster string
	// Namespaces limits the objects; all namespaces if empty.
	Namespaces []string
}

// Kind is a kind of object to cache.
type Kind struct {
	Resource schema.GroupVersionResource
	// Kind and ListKind are kinds such as Pod and PodList.
	Kind, ListKind string
	Namespaced     bool
	Scopes         []Scope
	// SelectableFields are the paths of a custom resource's fields, such as .spec.color.
	SelectableFields []string
}

// Options of a cache. Zero values mean the defaults.
type Options struct {
	// PageSize of lists of members; 500.
	PageSize int
	// WindowEvents and WindowBytes limit the events of a kind for watches that resume; 8192 and 32 MiB of replaced
	// objects. An older watch ends with 410.
	WindowEvents, WindowBytes int
	// MaxObjectBytes limits an object; 8 MiB. MaxObjects limits the objects of a kind in a cluster; two million.
	MaxObjectBytes, MaxObjects int
	// Grace is the time for which objects of an unreachable cluster are kept; forever if 0.
	Grace time.Duration
	// JoinGrace is how long lists wait, with 503, for a cluster that was never listed, and that is not late. Then they go
	// on without it. Lists do not wait if 0.
	JoinGrace time.Duration
	// RequestTimeout limits a page of a list, and the time to the headers of a watch; 60 s.
	RequestTimeout time.Duration
	// IdleTimeout ends a watch of a member without events and bookmarks; 100 s.
	IdleTimeout time.Duration
	// WaitTimeout limits the wait of a request for a version that is newer than the cache; 3 s.
	WaitTimeout time.Duration
	// MaxBackoff limits the time between attempts to reach a member; 30 s.
	MaxBackoff time.Duration
	// BookmarkDelay is the time from an event to its bookmark; 500 ms. BookmarkInterval is the time between bookmarks
	// of idle watches; 60 s.
	BookmarkDelay, BookmarkInterval time.Duration
	// Integers makes global versions integers of this cache, which no other cache can resume from.
	Integers bool
}

// WithDefaults sets the fields that are zero.
func (o Options) WithDefaults() Options {
	setDefault(&o.PageSize, 500)
	setDefault(&o.WindowEvents, 8192)
	setDefault(&o.WindowBytes, 32<<20)
	setDefault(&o.MaxObjectBytes, 8<<20)
	setDefault(&o.MaxObjects, 2_000_000)
	setDefault(&o.RequestTimeout, time.Minute)
	setDefault(&o.IdleTimeout, 100*time.Second)
	setDefault(&o.WaitTimeout, 3*time.Second)
	setDefault(&o.MaxBackoff, 30*time.Second)
	setDefault(&o.BookmarkDelay, 500*time.Millisecond)
	setDefault(&o.BookmarkInterval, time.Minute)
	return o
}

func setDefault[T int | time.Duration](value *T, to T) {
	if *value <= 0 {
		*value = to
	}
}

// Selection selects objects of a kind.
type Selection struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Labels and Fields select all objects if nil.
	Labels labels.Selector
	Fields fields.Selector
	// Clusters limits the result, and its version, to clusters; all clusters if nil.
	Clusters []string
}

// GetOptions are the parameters of a GET.
type GetOptions struct {
	ResourceVersion string
	Clusters        []string
}

// ListOptions are the parameters of a LIST.
type ListOptions struct {
	Selection
	ResourceVersion      string
	ResourceVersionMatch metav1.ResourceVersionMatch
	Limit                int64
	Continue             string
}

// WatchOptions are the parameters of a WATCH.
type WatchOptions struct {
	Selection
	ResourceVersion      string
	ResourceVersionMatch metav1.ResourceVersionMatch
	SendInitialEvents    *bool
	AllowWatchBookmarks  bool
	// ByCluster is set for clients that tell objects of equal names apart by their cluster. Others get, after a DELETED
	// event, an ADDED event with the object of another cluster, if there is one: their stores lost it.
	ByCluster bool
	// Timeout ends the watch; never if 0.
	Timeout time.Duration
}

// Status is the state of a kind in a cluster.
type Status struct {
	Cluster  string
	Resource schema.GroupVersionResource
	// Synced is true after the first list. Connected is true while a watch is open.
	Synced, Connected bool
	// Awaited is true while lists wait for the first list, for Options.JoinGrace at most. Joined is when that began.
	// Late is true if they never do.
	Awaited, Late bool
	Joined        time.Time
	// Expired is true if the objects were dropped because the cluster was unreachable for longer than Options.Grace.
	Expired        bool
	Objects, Bytes int
	// LastEvent is the time of the last event or bookmark; DisconnectedSince is when the watch was lost.
	LastEvent, DisconnectedSince time.Time
	// Restarts counts the watches that were opened again, Relists the lists after the first.
	Restarts, Relists int
	// Failures counts the lists and watches that failed.
	Failures int
	// Malformed counts the objects that cannot be read, up to 100; MalformedObject is one of them and the reason. The
	// last known state of these objects is served, if there is one.
	Malformed       int
	MalformedObject string
	// Error is the last error; empty while connected.
	Error string
}
