package tinypoll

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// maxWait is how long a request waits for a change.
const maxWait = 30 * time.Second

// configuration is what a sidecar gets.
type configuration struct {
	View         *model.View                 `json:"view"`
	Destinations []model.ResolvedDestination `json:"destinations"`
}

// server serves the sidecars of the driver.
type server struct {
	catalog   sidecar.Catalog
	authorize func(context.Context, *x509.Certificate) (model.Key, error)

	mu    sync.Mutex
	polls map[*poll]struct{}
}

// poll is a request that waits for a change of the configuration of its sidecar.
type poll struct {
	// has is the configuration that the sidecar has; nil while it is read, when each change may concern it.
	has     *configuration
	changed chan struct{} // has a value after a change
}

// concerns reports whether changes may change the configuration of the sidecar.
func (p *poll) concerns(c sidecar.Changes) bool {
	return p.has == nil || c.All || slices.Contains(c.Workloads, p.has.View.Workload.Key) ||
		slices.ContainsFunc(p.has.Destinations, func(to model.ResolvedDestination) bool {
			return slices.Contains(c.Destinations, to.Destination.Key)
		})
}

// wakePolls wakes waiting requests until the context ends.
func (s *server) wakePolls(ctx context.Context, changes *sidecar.Subscription) {
	defer changes.Unsubscribe()
	for {
		c, err := changes.Next(ctx)
		if err != nil {
			return
		}
		s.mu.Lock()
		for p := range s.polls {
			if p.concerns(c) {
				p.wake()
			}
		}
		s.mu.Unlock()
	}
}

func (p *poll) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// configuration answers with the configuration of the sidecar that asks, as soon as it differs from that of the header
// If-None-Match, or with status 304 after maxWait.
func (s *server) configuration(w http.ResponseWriter, r *http.Request) {
	p := &poll{changed: make(chan struct{}, 1)}
	defer s.remove(p)
	timeout := time.After(maxWait)
	for {
		s.set(p, nil)
		// The certificate is the only identity. The pod may have changed its workload since the last time.
		workload, err := s.authorize(r.Context(), r.TLS.PeerCertificates[0])
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		c, ok := s.configurationOf(workload)
		if !ok {
			http.Error(w, fmt.Sprintf("workload %s has no view", workload), http.StatusServiceUnavailable)
			return
		}
		if c.tag() != r.Header.Get("If-None-Match") {
			c.write(w)
			return
		}
		s.set(p, &c)
		select {
		case <-p.changed:
		case <-timeout:
			w.WriteHeader(http.StatusNotModified)
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) set(p *poll, has *configuration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.has = has
	s.polls[p] = struct{}{}
}

func (s *server) remove(p *poll) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.polls, p)
}

// configurationOf returns the configuration of the sidecars of a workload.
func (s *server) configurationOf(workload model.Key) (c configuration, ok bool) {
	if c.View, ok = s.catalog.View(workload); !ok {
		return c, false
	}
	for _, d := range c.View.Destinations {
		if resolved, ok := s.catalog.ResolvedDestination(workload, d.Key); ok {
			c.Destinations = append(c.Destinations, resolved)
		}
	}
	return c, true
}

func (c configuration) encode() []byte {
	body, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("tinypoll: the configuration does not encode: %v", err)) // all types of the model can be encoded
	}
	return body
}

// tag identifies the content.
func (c configuration) tag() string {
	sum := sha256.Sum256(c.encode())
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func (c configuration) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("ETag", c.tag())
	_, _ = w.Write(c.encode()) // the client may have disconnected
}
