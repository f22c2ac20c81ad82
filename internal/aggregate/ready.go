package aggregate

import (
	"fmt"
	"net/http"
	"time"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

// listGrace is how long a server is not ready because of a kind that a reachable cluster does not list.
const listGrace = 5 * time.Minute

// readyz is 200 when the clusters and registries were read and every kind was listed in every reachable cluster. A
// server that starts waits for unreachable clusters, too, as long as its lists do, so that a Service prefers replicas
// that have the objects. A cluster that joins or cannot be reached later does not make the server unready.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	text := s.unready()
	if text == "" {
		s.wasReady.Store(true)
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	http.Error(w, text, http.StatusServiceUnavailable)
}

// unready returns what the server waits for; empty if it is ready.
func (s *Server) unready() string {
	if s.stopping.Load() {
		return "the aggregator ends"
	}
	if !s.refreshed.Load() {
		return "waits for the Clusters and ResourceRegistries of the control plane"
	}
	v := s.view.Load()
	for _, st := range s.cache.Status() {
		m, ok := v.member(st.Cluster)
		switch {
		case !ok || st.Synced || st.Late:
		case m.Ready && time.Since(st.Joined) < max(listGrace, s.config.StartGrace):
			return waits(st, "")
		case st.Awaited && !s.wasReady.Load():
			end := st.Joined.Add(s.config.StartGrace).UTC().Format(time.RFC3339)
			return waits(st, ", which does not answer, until "+end)
		}
	}
	return ""
}

func waits(st cache.Status, why string) string {
	text := fmt.Sprintf("waits for the list of %s of cluster %s%s", st.Resource.GroupResource(), st.Cluster, why)
	if st.Error != "" {
		text += ": " + st.Error
	}
	return text
}
