package dashboard

// quantiles draws the median and the slow end of a histogram.
func quantiles(metric string) []Query {
	return []Query{
		{`histogram_quantile(0.5, sum by (le) (rate(` + metric + `_bucket[5m])))`, "p50"},
		{`histogram_quantile(0.99, sum by (le) (rate(` + metric + `_bucket[5m])))`, "p99"},
	}
}

// rows are what there is to see, what users feel first.
var rows = []row{
	{"Changes", []panel{
		{"From an event to the sidecars' acknowledgement", "What users wait for: from the API server's event until a sidecar has accepted what follows from it.", "s",
			quantiles("anymesh_xds_ack_latency_seconds")},
		{"Stages of a change", "Where the control plane itself spends the time, p99: waiting for the change before, working out what follows, rendering and publishing.", "s",
			[]Query{
				{`histogram_quantile(0.99, sum by (le) (rate(anymesh_engine_wait_seconds_bucket[5m])))`, "wait"},
				{`histogram_quantile(0.99, sum by (le) (rate(anymesh_engine_sync_seconds_bucket[5m])))`, "sync"},
				{`histogram_quantile(0.99, sum by (le) (rate(anymesh_engine_deliver_seconds_bucket[5m])))`, "deliver"},
			}},
		{"Events and work", "Events about objects, the changes that they were taken together into, and the rules that were evaluated.", "ops",
			[]Query{
				{`sum(rate(anymesh_engine_events_total[5m]))`, "events"},
				{`sum(rate(anymesh_engine_changes_total[5m]))`, "changes"},
				{`sum(rate(anymesh_engine_evaluations_total[5m]))`, "evaluations"},
				{`sum by (what) (rate(anymesh_delivery_rendered_total[5m]))`, "rendered: {{what}}"},
			}},
		{"Queues", "What waits: events for the next change, objects for the writer of statuses and for the release of finalizers.", "short",
			[]Query{
				{`sum(anymesh_engine_pending_events)`, "events"},
				{`sum by (queue) (anymesh_workqueue_depth)`, "{{queue}}"},
			}},
	}},
	{"Sidecars", []panel{
		{"Connected sidecars", "Streams, by replica and sidecar driver.", "short",
			[]Query{{`sum by (instance, driver) (anymesh_xds_streams)`, "{{instance}} {{driver}}"}}},
		{"Answers", "What sidecars make of their configuration. A nack is told on the object that caused it.", "ops",
			[]Query{{`sum by (result) (rate(anymesh_xds_acks_total[5m]))`, "{{result}}"}}},
		{"Refused configuration", "Resources that a connected sidecar refuses at present. The statuses of objects say which.", "short",
			[]Query{{`sum(anymesh_delivery_rejected)`, "resources"}}},
		{"Bytes sent", "By type of resource, and how many of them were encoded for another sidecar already.", "Bps",
			[]Query{
				{`sum by (type) (rate(anymesh_xds_sent_bytes_total[5m]))`, "{{type}}"},
				{`sum(rate(anymesh_xds_shared_bytes_total[5m]))`, "shared"},
			}},
		{"Refused and ended streams", "Limits that were met, and sidecars that were sent away.", "ops",
			[]Query{
				{`sum by (reason) (rate(anymesh_xds_refused_total[5m]))`, "refused: {{reason}}"},
				{`sum by (reason) (rate(anymesh_xds_closed_streams_total[5m]))`, "closed: {{reason}}"},
			}},
		{"What is delivered", "Workloads that have a view, and destinations, each rendered once for all of them.", "short",
			[]Query{
				{`max(anymesh_delivery_workloads)`, "workloads"},
				{`max(anymesh_delivery_destinations)`, "destinations"},
			}},
	}},
	{"Identity", []panel{
		{"Certificates", "Issued, and refused by reason.", "ops",
			[]Query{
				{`sum(rate(anymesh_identity_issued_total[5m]))`, "issued"},
				{`sum by (reason) (rate(anymesh_identity_refused_total[5m]))`, "refused: {{reason}}"},
			}},
		{"Time until certificates expire", "The roots, and the control plane's own.", "s",
			[]Query{
				{`min by (role) (anymesh_identity_root_expiry_timestamp_seconds) - time()`, "root: {{role}}"},
				{`min(anymesh_identity_serving_expiry_timestamp_seconds) - time()`, "control plane"},
			}},
		{"Rotation of the root", "The phase that each replica sees; they agree within seconds.", "short",
			[]Query{{`sum by (phase) (anymesh_identity_rotation_phase)`, "{{phase}}"}}},
	}},
	{"Kubernetes", []panel{
		{"Status writes", "By result. However many findings there are, writes are bounded.", "ops",
			[]Query{{`sum by (result) (rate(anymesh_status_writes_total[5m]))`, "{{result}}"}}},
		{
			"Leader", "The replica that writes statuses. There is one.", "short",
			[]Query{{`anymesh_leader`, "{{instance}}"}},
		},
		{"Refused requests to webhooks", "Before they were decoded, by reason.", "ops",
			[]Query{{`sum by (reason) (rate(anymesh_webhook_refused_total[5m]))`, "{{reason}}"}}},
	}},
	{"Process", []panel{
		{
			"CPU", "Cores, by replica.", "short",
			[]Query{{`rate(process_cpu_seconds_total{job=~".*anymesh.*"}[5m])`, "{{instance}}"}},
		},
		{
			"Memory", "Resident, by replica.", "bytes",
			[]Query{{`process_resident_memory_bytes{job=~".*anymesh.*"}`, "{{instance}}"}},
		},
		{
			"Goroutines", "By replica; they follow the number of sidecars.", "short",
			[]Query{{`go_goroutines{job=~".*anymesh.*"}`, "{{instance}}"}},
		},
	}},
}
