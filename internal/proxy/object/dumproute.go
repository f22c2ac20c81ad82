package object

import "anymesh.dev/anymesh/internal/proxy/config"

func routeDump(recursive bool) func(*Route) Object {
	return func(r *Route) Object {
		on := r.Retry.RetryOn
		if on == "" {
			on = config.RetryNever
		}
		retry := Object{"retry_on": on, "num_retries": r.Retry.Retries(), "timeout": r.Retry.Pause().Milliseconds()}
		if r.Retry.Backoff != nil {
			retry["backoff"] = *r.Retry.Backoff
		}
		if len(r.Retry.Statuses) > 0 {
			retry["statuses"] = r.Retry.Statuses
		}
		if len(r.Retry.GRPCStatuses) > 0 {
			retry["grpc_statuses"] = r.Retry.GRPCStatuses
		}
		if r.Retry.Reset {
			retry["reset"] = true
		}
		if r.Retry.Exact {
			retry["exact"] = true
		}
		if r.Retry.OtherCluster {
			retry["other_cluster"] = true
		}
		out := Object{
			"name":    r.Name,
			"ingress": references(r.Ingress, recursive, clusterDump(recursive)),
			"egress":  references(r.Egress, recursive, clusterDump(recursive)),
			"retry":   retry,
		}
		weighted := []any{}
		for _, d := range r.Destinations {
			to := reference(d.Slot, recursive, clusterDump(recursive))
			weighted = append(weighted, Object{"destination": to, "weight": d.Weight})
			out["destination"] = to
		}
		if len(weighted) > 1 {
			delete(out, "destination")
			out["destinations"] = weighted
		}
		if r.Metrics != nil {
			out["metrics"] = r.Metrics
		}
		if r.Rate != nil {
			out["rate"] = r.Rate
		}
		mirrors := []any{}
		for _, m := range r.Mirrors {
			destination := reference(m.Destination, recursive, clusterDump(recursive))
			mirrors = append(mirrors, Object{"destination": destination, "percent": m.Percent})
		}
		if len(mirrors) > 0 {
			out["mirrors"] = mirrors
		}
		if text := r.warning(); text != "" {
			out["warning"] = text
		}
		if r.Timeouts != (config.Timeouts{}) {
			out["timeouts"] = r.Timeouts
		}
		return out
	}
}
