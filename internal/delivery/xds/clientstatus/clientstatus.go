// Package clientstatus has the types that describe the clients of the xDS server. The server fills them, and the debug
// endpoint serves them as JSON. It is apart from the server because the verbs that read them also run on systems other
// than Linux.
package clientstatus

import "time"

// Client describes one connected stream.
type Client struct {
	Key       string
	Identity  string // xds.Grant.Identity
	NodeID    string
	Address   string // remote address of the connection; for display, not authenticated
	Connected time.Time
	Types     []ClientType // ordered by type URL
}

// ClientType is the state of one resource type on a stream.
type ClientType struct {
	TypeURL          string
	Wildcard         bool
	NamedResources   int // number of names subscribed to
	Resources        int // number of resources sent
	SentVersion      string
	AckedVersion     string
	PendingResources int   // changed resources that are not yet sent
	PendingAcks      int   // responses without ACK or NACK
	LastNack         *Nack // nil if there was none
	// Rejected are the names of the resources that the client rejects: it has not accepted their current version, also if
	// it accepted other resources since. Sorted.
	Rejected []string `json:",omitempty"`
}

// Nack is a response that a client rejected.
type Nack struct {
	Time    time.Time
	Names   []string
	Message string
}
