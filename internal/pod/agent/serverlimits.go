package agent

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of the HTTP server, which every pod of the cluster reaches. Connections have one request at a time. Those of
// the node are counted apart: nobody else can take the slots that the probes of kubelet need.
const (
	// MaxConnections limits those of all addresses other than the node's.
	MaxConnections = 64
	// MaxConnectionsPerSource limits those of one address.
	MaxConnectionsPerSource = 8
	// MaxConnectionsPerSecond limits the average number of new ones of one address, MaxConnectionBurst those beyond it.
	MaxConnectionsPerSecond = 5
	MaxConnectionBurst      = 50
	// MaxNodeConnections limits those of the node.
	MaxNodeConnections = 64
	// MaxScrapesPerSource limits the requests for metrics of one address at once: they cost the proxy time.
	MaxScrapesPerSource = 2
	// MaxScrapes limits those of all addresses.
	MaxScrapes = 8
	// MaxHeaderBytes limits the header of a request. One with a longer header gets status 431.
	MaxHeaderBytes = 16 << 10
	// ReadHeaderTimeout limits the time in which the header arrives. Then the connection is closed.
	ReadHeaderTimeout = 5 * time.Second
	// WriteTimeout limits the time from the first byte of a response to its last.
	WriteTimeout = 10 * time.Second
)

// limitScrapes limits the requests of a handler at once: of an address, and of all. Further ones get status 429.
func limitScrapes(next http.HandlerFunc, refused func()) http.HandlerFunc {
	var mu sync.Mutex
	open, total := map[string]int{}, 0
	begin := func(source string) bool {
		mu.Lock()
		defer mu.Unlock()
		if open[source] >= MaxScrapesPerSource || total >= MaxScrapes {
			return false
		}
		open[source]++
		total++
		return true
	}
	end := func(source string) {
		mu.Lock()
		defer mu.Unlock()
		total--
		if open[source]--; open[source] == 0 {
			delete(open, source)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) {
		source, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			source = r.RemoteAddr
		}
		if !begin(source) {
			refused()
			http.Error(w, "too many requests for metrics at once", http.StatusTooManyRequests)
			return
		}
		defer end(source)
		next(w, r)
	}
}
