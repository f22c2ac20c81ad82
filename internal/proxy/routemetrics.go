package proxy

import (
	"cmp"
	"slices"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/httpforward"
)

// routeStats returns where the requests of routes with some labels are counted. What was counted stays until the end of
// the process, as metrics must not decrease.
func (p *Proxy) routeStats(m config.RouteMetrics) *httpforward.Stats {
	if s, known := p.routes.Load(m); known {
		return s.(*httpforward.Stats)
	}
	s, _ := p.routes.LoadOrStore(m, new(httpforward.Stats))
	return s.(*httpforward.Stats)
}

// routes writes the metrics of routes.
func (m metrics) routes(p *Proxy) {
	type counted struct {
		labels config.RouteMetrics
		stats  *httpforward.Stats
	}
	var all []counted
	p.routes.Range(func(key, value any) bool {
		all = append(all, counted{key.(config.RouteMetrics), value.(*httpforward.Stats)})
		return true
	})
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.labels.Service, b.labels.Service), cmp.Compare(a.labels.Route, b.labels.Route))
	})
	each := func(do func(*httpforward.Stats, []string)) {
		for _, one := range all {
			labels := []string{"anymesh_service", one.labels.Service, "anymesh_route", one.labels.Route}
			do(one.stats, labels[:len(labels):len(labels)])
		}
	}
	m.responses("route_responses_total", "Responses of a route by the first digit of the status; 0 are requests that were aborted.", each)
	m.head("route_retries_total", "counter", "Further attempts of the requests of a route.")
	each(func(s *httpforward.Stats, labels []string) {
		m.add("route_retries_total", float64(s.Retries.Load()), labels...)
	})
	m.durations("route_request_duration_seconds", "Time from the head of a request of a route to the end of its response.", each)
}
