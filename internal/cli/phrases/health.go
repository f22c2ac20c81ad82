package phrases

import (
	"fmt"
	"math"
	"strings"

	"anymesh.dev/anymesh/model"
)

// Health describes the health check and the outlier detection of a destination, one line each.
func Health(d model.Destination) []string {
	var out []string
	if h := d.HealthCheck; h != nil {
		what := "connection"
		switch h.Protocol {
		case model.HTTP, model.HTTP2:
			what = "GET " + h.Path + " over " + string(h.Protocol)
		case model.GRPC:
			what = "gRPC health check"
		}
		out = append(out, fmt.Sprintf("health check by clients: %s every %s, timeout %s; unhealthy after %s, healthy after %s",
			what, Duration(h.Interval), Duration(h.Timeout), counted(h.UnhealthyThreshold, "failure", "failures"),
			counted(h.HealthyThreshold, "success", "successes")))
	}
	if o := d.OutlierDetection; o != nil {
		out = append(out, fmt.Sprintf("outlier detection by clients: ejected for %s after %s, checked every %s; at most %d%% of the endpoints",
			Duration(o.BaseEjection), counted(o.ServerErrors, "server error", "server errors"), Duration(o.Interval),
			o.MaxEjectedPercent))
	}
	if len(out) > 0 && d.PanicThreshold > 0 {
		out = append(out, fmt.Sprintf("below %d%% healthy endpoints, all are used", d.PanicThreshold))
	}
	return out
}

// CircuitBreaker describes the limits of a listener. It returns "" if there are none.
func CircuitBreaker(b *model.CircuitBreaker) string {
	if b == nil {
		return ""
	}
	var out []string
	for _, l := range []struct {
		n         uint32
		one, more string
	}{
		{b.MaxConnections, "connection", "connections"}, {b.MaxPending, "waiting request", "waiting requests"},
		{b.MaxRequests, "request", "requests"},
	} {
		if l.n > 0 && l.n < math.MaxUint32 {
			out = append(out, counted(l.n, l.one, l.more))
		}
	}
	return strings.Join(out, ", ")
}

func counted(n uint32, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
