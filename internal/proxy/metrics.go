package proxy

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/cluster"
	"anymesh.dev/anymesh/internal/proxy/httpforward"
)

// serveMetrics serves the metrics in the text format of Prometheus, /ready, and /health.
func (p *Proxy) serveMetrics(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ready":
		_, _ = io.WriteString(w, "ready\n")
		return
	case "/health":
		p.serveHealth(w, r.URL.Query().Get("clusters"))
		return
	}
	var out strings.Builder
	m := metrics{&out}
	p.mu.Lock()
	all := make([]*listener, 0, len(p.listeners))
	for _, l := range p.listeners {
		all = append(all, l)
	}
	p.mu.Unlock()
	m.head("listener_requests_total", "counter", "Sessions and requests of a listener.")
	for _, l := range all {
		m.add("listener_requests_total", float64(l.requests()), l.labels()...)
	}
	m.http(all)
	m.routes(p)
	m.clusters(p.store.AllClusters())
	m.head("sessions", "gauge", "Sessions that have not ended; requests between HTTP listeners and HTTP clusters are none.")
	m.add("sessions", float64(p.sessions.Active()))
	m.head("session_errors_total", "counter", "Sessions that had an error.")
	m.add("session_errors_total", float64(p.sessions.Errors.Load()))
	m.head("udp_dropped_packets_total", "counter", "Packets that did not fit into a queue or a socket.")
	for _, l := range all {
		if l.udp != nil {
			m.add("udp_dropped_packets_total", float64(l.udp.Dropped.Load()), l.labels()...)
		}
	}
	m.send(w)
}

// clusters writes the metrics of clusters.
func (m metrics) clusters(clusters []*cluster.Cluster) {
	m.head("cluster_requests_total", "counter", "Sessions and requests to a cluster.")
	for _, c := range clusters {
		m.add("cluster_requests_total", float64(c.Sessions.Load()), "clusterName", c.Name, "protocol", string(c.Spec.Protocol))
	}
	m.head("cluster_active", "gauge", "Sessions and requests to a cluster that have not ended, with those that wait.")
	for _, c := range clusters {
		m.add("cluster_active", float64(c.Active.Load()), "clusterName", c.Name)
	}
	m.head("cluster_failures_total", "counter", "Sessions and requests without a connection to a cluster.")
	for _, c := range clusters {
		m.add("cluster_failures_total", float64(c.Failed.Load()), "clusterName", c.Name, "protocol", string(c.Spec.Protocol))
	}
	m.head("cluster_overflow_total", "counter", "Requests, sessions and retries beyond the limits of a cluster.")
	for _, c := range clusters {
		m.add("cluster_overflow_total", float64(c.Overflows.Load()), "clusterName", c.Name)
	}
	m.head("cluster_ejections_total", "counter", "Endpoints that were ejected because they failed.")
	for _, c := range clusters {
		m.add("cluster_ejections_total", float64(c.Ejections.Load()), "clusterName", c.Name)
	}
	m.head("cluster_health_checks_total", "counter", "Health checks of endpoints, by result.")
	for _, c := range clusters {
		if c.HealthCheck != nil {
			m.add("cluster_health_checks_total", float64(c.Passed.Load()), "clusterName", c.Name, "result", "passed")
			m.add("cluster_health_checks_total", float64(c.NotPassed.Load()), "clusterName", c.Name, "result", "failed")
		}
	}
	m.head("cluster_endpoints", "gauge", "Endpoints by state: healthy, unhealthy by health checks, ejected because they failed.")
	for _, c := range clusters {
		count := map[string]int{}
		for _, e := range c.Targets() {
			count[e.State()]++
		}
		for _, state := range []string{cluster.Healthy, cluster.Unhealthy, cluster.Ejected} {
			m.add("cluster_endpoints", float64(count[state]), "clusterName", c.Name, "state", state)
		}
	}
	m.head("session_byte_counter_total", "counter", "Bytes of sessions, by cluster and direction.")
	for _, c := range clusters {
		m.add("session_byte_counter_total", float64(c.Sent.Bytes.Load()), "clusterName", c.Name, "direction", "sent")
		m.add("session_byte_counter_total", float64(c.Received.Bytes.Load()), "clusterName", c.Name, "direction", "received")
	}
	m.head("session_packet_counter_total", "counter", "Messages, or pieces of byte streams, of sessions.")
	for _, c := range clusters {
		m.add("session_packet_counter_total", float64(c.Sent.Pieces.Load()), "clusterName", c.Name, "direction", "sent")
		m.add("session_packet_counter_total", float64(c.Received.Pieces.Load()), "clusterName", c.Name, "direction", "received")
	}
}

// serveHealth serves, for each cluster whose name begins with a prefix, the number of its healthy endpoints.
func (p *Proxy) serveHealth(w http.ResponseWriter, prefix string) {
	m := metrics{&strings.Builder{}}
	m.head("cluster_healthy_endpoints", "gauge", "Endpoints that pass their health checks and are not ejected.")
	for _, c := range p.store.AllClusters() {
		if !strings.HasPrefix(c.Name, prefix) {
			continue
		}
		healthy := 0
		for _, e := range c.Targets() {
			if e.State() == cluster.Healthy {
				healthy++
			}
		}
		m.add("cluster_healthy_endpoints", float64(healthy), "clusterName", c.Name)
	}
	m.send(w)
}

// requests returns the number of sessions and requests.
func (l *listener) requests() uint64 {
	if l.http != nil {
		return l.http.Stats.Requests.Load()
	}
	return l.accepted.Load()
}

func (l *listener) labels() []string {
	c := l.current()
	return []string{"listenerName", c.Name, "protocol", string(c.Spec.Protocol)}
}

// metrics writes the text format.
type metrics struct{ out *strings.Builder }

func (m metrics) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = io.WriteString(w, m.out.String())
}

func (m metrics) head(name, kind, help string) {
	fmt.Fprintf(m.out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// add writes a value; labels are names and values in turn.
func (m metrics) add(name string, value float64, labels ...string) {
	m.out.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		fmt.Fprintf(m.out, "%s%s=\"%s\"", separator, labels[i], escape.Replace(labels[i+1]))
	}
	if len(labels) > 0 {
		m.out.WriteByte('}')
	}
	fmt.Fprintf(m.out, " %v\n", value)
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// http writes the metrics of HTTP listeners.
func (m metrics) http(all []*listener) {
	each := func(do func(*httpforward.Stats, []string)) { m.each(all, do) }
	m.responses("http_responses_total", "Responses by the first digit of the status; 0 are requests that were aborted.", each)
	m.head("http_retries_total", "counter", "Further attempts of requests.")
	each(func(s *httpforward.Stats, labels []string) {
		m.add("http_retries_total", float64(s.Retries.Load()), labels...)
	})
	m.head("http_mirrors_dropped_total", "counter", "Copies of requests that were not sent, because too many were under way.")
	each(func(s *httpforward.Stats, labels []string) {
		m.add("http_mirrors_dropped_total", float64(s.MirrorsDropped.Load()), labels...)
	})
	m.durations("http_request_duration_seconds", "Time from the head of a request to the end of its response.", each)
}

// responses writes a counter of responses by class.
func (m metrics) responses(name, help string, each func(func(*httpforward.Stats, []string))) {
	m.head(name, "counter", help)
	each(func(s *httpforward.Stats, labels []string) {
		for i := range s.Responses {
			m.add(name, float64(s.Responses[i].Load()), append(labels, "class", fmt.Sprint(i))...)
		}
	})
}

// durations writes a histogram of durations.
func (m metrics) durations(name, help string, each func(func(*httpforward.Stats, []string))) {
	m.head(name, "histogram", help)
	each(func(s *httpforward.Stats, labels []string) {
		count := uint64(0)
		for i := range s.Latency {
			bound := "+Inf"
			if i < len(httpforward.Buckets) {
				bound = fmt.Sprint(httpforward.Buckets[i].Seconds())
			}
			count += s.Latency[i].Load()
			m.add(name+"_bucket", float64(count), append(labels, "le", bound)...)
		}
		m.add(name+"_sum", float64(s.Nanoseconds.Load())/1e9, labels...)
		m.add(name+"_count", float64(count), labels...)
	})
}

func (m metrics) each(all []*listener, do func(*httpforward.Stats, []string)) {
	for _, l := range all {
		if l.http != nil {
			labels := l.labels()
			do(&l.http.Stats, labels[:len(labels):len(labels)])
		}
	}
}
