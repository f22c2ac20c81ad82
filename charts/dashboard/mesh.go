package dashboard

// sidecars selects the series of routes by the variables of the dashboard.
const sidecars = `{anymesh_service=~"$service", namespace=~"$namespace"}`

const failed = `{envoy_response_code_class="5", anymesh_service=~"$service", namespace=~"$namespace"}`

// share is the share of some requests in all. It is 0 while there are others only, which have no series.
func share(by, some, all string) string {
	rate := func(series string) string { return "sum by (" + by + ") (rate(" + series + "[5m]))" }
	return "(" + rate(some) + " or " + rate(all) + " * 0) / " + rate(all)
}

// meshRows are the golden signals of services and routes, as the callers see them, and what explains them. Metrics of
// requests count each request once, whatever the number of its tries.
var meshRows = []row{
	{"Services", []panel{
		{"Requests", "Requests per second to each service, from all callers.", "reqps",
			[]Query{{`sum by (anymesh_service) (rate(envoy_vhost_route_upstream_rq_xx` + sidecars + `[5m]))`, "{{anymesh_service}}"}}},
		{"Errors", "Share of the requests to each service with status 5xx, also those without an endpoint.", "percentunit",
			[]Query{{share("anymesh_service", "envoy_vhost_route_upstream_rq_xx"+failed, "envoy_vhost_route_upstream_rq_xx"+sidecars), "{{anymesh_service}}"}}},
		{"Latency", "Time until the response of each service, p99.", "ms",
			[]Query{{`histogram_quantile(0.99, sum by (le, anymesh_service) (rate(envoy_vhost_route_upstream_rq_time_bucket` + sidecars + `[5m])))`, "{{anymesh_service}}"}}},
	}},
	{"Routes", []panel{
		{"Requests", "Requests per second by route.", "reqps",
			[]Query{{`sum by (anymesh_service, anymesh_route) (rate(envoy_vhost_route_upstream_rq_xx` + sidecars + `[5m]))`, "{{anymesh_service}} {{anymesh_route}}"}}},
		{"Errors", "Share of the requests of a route with status 5xx.", "percentunit",
			[]Query{{share("anymesh_service, anymesh_route", "envoy_vhost_route_upstream_rq_xx"+failed, "envoy_vhost_route_upstream_rq_xx"+sidecars), "{{anymesh_service}} {{anymesh_route}}"}}},
		{"Latency", "Time until the response, p50 and p99 by route.", "ms",
			[]Query{
				{`histogram_quantile(0.5, sum by (le, anymesh_service, anymesh_route) (rate(envoy_vhost_route_upstream_rq_time_bucket` + sidecars + `[5m])))`, "p50 {{anymesh_service}} {{anymesh_route}}"},
				{`histogram_quantile(0.99, sum by (le, anymesh_service, anymesh_route) (rate(envoy_vhost_route_upstream_rq_time_bucket` + sidecars + `[5m])))`, "p99 {{anymesh_service}} {{anymesh_route}}"},
			}},
		{"Retries and timeouts", "Tries after the first, and tries that ended at a timeout, by route.", "ops",
			[]Query{
				{`sum by (anymesh_service, anymesh_route) (rate(envoy_vhost_route_upstream_rq_retry` + sidecars + `[5m]))`, "retries {{anymesh_service}} {{anymesh_route}}"},
				{`sum by (anymesh_service, anymesh_route) (rate(envoy_vhost_route_upstream_rq_timeout` + sidecars + `[5m]))`, "timeouts {{anymesh_service}} {{anymesh_route}}"},
			}},
	}},
	{"Pods", []panel{
		{"Inbound requests", "Requests per second that a sidecar or gateway receives.", "reqps",
			[]Query{{`sum by (pod) (rate(envoy_http_downstream_rq_total{envoy_http_conn_manager_prefix=~"ingress.*", namespace=~"$namespace"}[5m]))`, "{{pod}}"}}},
		{"Inbound errors", "Share of these requests with status 5xx.", "percentunit",
			[]Query{{share("pod", `envoy_http_downstream_rq_xx{envoy_http_conn_manager_prefix=~"ingress.*", envoy_response_code_class="5", namespace=~"$namespace"}`,
				`envoy_http_downstream_rq_total{envoy_http_conn_manager_prefix=~"ingress.*", namespace=~"$namespace"}`), "{{pod}}"}}},
		{"Inbound latency", "Time until the response, p99.", "ms",
			[]Query{{`histogram_quantile(0.99, sum by (le, pod) (rate(envoy_http_downstream_rq_time_bucket{envoy_http_conn_manager_prefix=~"ingress.*", namespace=~"$namespace"}[5m])))`, "{{pod}}"}}},
	}},
	{"Destinations", []panel{
		{"Healthy endpoints", "Least share of healthy endpoints that a sidecar sees.", "percentunit",
			[]Query{{`min by (envoy_cluster_name) (envoy_cluster_membership_healthy{envoy_cluster_name=~"cds_egress_.*", namespace=~"$namespace"} / envoy_cluster_membership_total{envoy_cluster_name=~"cds_egress_.*", namespace=~"$namespace"})`, "{{envoy_cluster_name}}"}}},
		{"Failed connections", "Connections that failed, and requests and connections that a limit refused.", "ops",
			[]Query{
				{`sum by (envoy_cluster_name) (rate(envoy_cluster_upstream_cx_connect_fail{namespace=~"$namespace"}[5m]))`, "failed {{envoy_cluster_name}}"},
				{`sum by (envoy_cluster_name) (rate(envoy_cluster_upstream_rq_pending_overflow{namespace=~"$namespace"}[5m]))`, "pending requests {{envoy_cluster_name}}"},
				{`sum by (envoy_cluster_name) (rate(envoy_cluster_upstream_cx_overflow{namespace=~"$namespace"}[5m]))`, "connections {{envoy_cluster_name}}"},
			}},
		{"Open connections", "Connections to each destination.", "short",
			[]Query{{`sum by (envoy_cluster_name) (envoy_cluster_upstream_cx_active{envoy_cluster_name=~"cds_egress_.*", namespace=~"$namespace"})`, "{{envoy_cluster_name}}"}}},
	}},
	{"Sidecars", []panel{
		{"Without a control plane", "Sidecars without a connection to the control plane. They keep their configuration.", "short",
			[]Query{{`sum by (namespace) (envoy_control_plane_connected_state{namespace=~"$namespace"} == bool 0)`, "{{namespace}}"}}},
		{"Memory", "Memory that proxies use.", "bytes",
			[]Query{{`sum by (pod) (envoy_server_memory_allocated{namespace=~"$namespace"})`, "{{pod}}"}}},
	}},
}
