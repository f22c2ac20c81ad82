package dashboard

// quantiles returns queries for the median and the 99th percentile of a histogram.
func quantiles(metric string) []Query {
	return []Query{
		{`histogram_quantile(0.5, sum by (le) (rate(` + metric + `_bucket[5m])))`, "p50"},
		{`histogram_quantile(0.99, sum by (le) (rate(` + metric + `_bucket[5m])))`, "p99"},
	}
}

// rows are ordered by their effect on users.
var rows = []row{
	{"Changes", []panel{
		{"Propagation time", "Time from an API server event until a sidecar acknowledges the resulting configuration.", "s",
			quantiles("anymesh_xds_ack_latency_seconds")},
		{"Stages of a change", "Time in the control plane, p99: waiting for the previous change (wait), computing the mesh (sync), rendering and publishing (deliver).", "s",
			[]Query{
				{`histogram_quantile(0.99, sum by (le) (rate(anymesh_engine_wait_seconds_bucket[5m])))`, "wait"},
				{`histogram_quantile(0.99, sum by (le) (rate(anymesh_engine_sync_seconds_bucket[5m])))`, "sync"},
				{`histogram_quantile(0.99, sum by (le) (rate(anymesh_engine_deliver_seconds_bucket[5m])))`, "deliver"},
			}},
		{"Events and work", "Object events, the changes that they are batched into, evaluated rules, and rendered configurations.", "ops",
			[]Query{
				{`sum(rate(anymesh_engine_events_total[5m]))`, "events"},
				{`sum(rate(anymesh_engine_changes_total[5m]))`, "changes"},
				{`sum(rate(anymesh_engine_evaluations_total[5m]))`, "evaluations"},
				{`sum by (what) (rate(anymesh_delivery_rendered_total[5m]))`, "rendered: {{what}}"},
			}},
		{"Queues", "Events that wait for the next change, and objects that wait for a status update or for the removal of finalizers.", "short",
			[]Query{
				{`sum(anymesh_engine_pending_events)`, "events"},
				{`sum by (queue) (anymesh_workqueue_depth)`, "{{queue}}"},
			}},
	}},
	{"Sidecars", []panel{
		{"Connected sidecars", "xDS streams by replica and sidecar driver.", "short",
			[]Query{{`sum by (instance, driver) (anymesh_xds_streams)`, "{{instance}} {{driver}}"}}},
		{"Acknowledgements", "ACKs and NACKs of sidecars. A NACK is reported on the object that caused it.", "ops",
			[]Query{{`sum by (result) (rate(anymesh_xds_acks_total[5m]))`, "{{result}}"}}},
		{"Rejected configuration", "Resources that a connected sidecar currently rejects. The status of the objects names them.", "short",
			[]Query{{`sum(anymesh_delivery_rejected)`, "resources"}}},
		{"Bytes sent", "By resource type; shared bytes were encoded once for several sidecars.", "Bps",
			[]Query{
				{`sum by (type) (rate(anymesh_xds_sent_bytes_total[5m]))`, "{{type}}"},
				{`sum(rate(anymesh_xds_shared_bytes_total[5m]))`, "shared"},
			}},
		{"Refused and closed streams", "Streams refused by limits, and streams closed by the control plane, by reason.", "ops",
			[]Query{
				{`sum by (reason) (rate(anymesh_xds_refused_total[5m]))`, "refused: {{reason}}"},
				{`sum by (reason) (rate(anymesh_xds_closed_streams_total[5m]))`, "closed: {{reason}}"},
			}},
		{"Workloads and destinations", "Workloads with configuration, and destinations. Each destination is rendered once for all workloads.", "short",
			[]Query{
				{`max(anymesh_delivery_workloads)`, "workloads"},
				{`max(anymesh_delivery_destinations)`, "destinations"},
			}},
	}},
	{"Identity", []panel{
		{"Certificates", "Issued certificates, and refused requests by reason.", "ops",
			[]Query{
				{`sum(rate(anymesh_identity_issued_total[5m]))`, "issued"},
				{`sum by (reason) (rate(anymesh_identity_refused_total[5m]))`, "refused: {{reason}}"},
			}},
		{"Time until certificates expire", "Root certificates and the certificate of the control plane.", "s",
			[]Query{
				{`min by (role) (anymesh_identity_root_expiry_timestamp_seconds) - time()`, "root: {{role}}"},
				{`min(anymesh_identity_serving_expiry_timestamp_seconds) - time()`, "control plane"},
			}},
		{"Root rotation", "Rotation phase by replica. Replicas agree within seconds.", "short",
			[]Query{{`sum by (phase) (anymesh_identity_rotation_phase)`, "{{phase}}"}}},
	}},
	{"Kubernetes", []panel{
		{"Status writes", "By result. The rate is limited.", "ops",
			[]Query{{`sum by (result) (rate(anymesh_status_writes_total[5m]))`, "{{result}}"}}},
		{
			"Leader", "The only replica that writes status.", "short",
			[]Query{{`anymesh_leader`, "{{instance}}"}},
		},
		{"Refused webhook requests", "Requests refused before decoding, by reason.", "ops",
			[]Query{{`sum by (reason) (rate(anymesh_webhook_refused_total[5m]))`, "{{reason}}"}}},
	}},
	{"Process", []panel{
		{
			"CPU", "CPU cores by replica.", "short",
			[]Query{{`rate(process_cpu_seconds_total{job=~".*anymesh.*"}[5m])`, "{{instance}}"}},
		},
		{
			"Memory", "Resident memory by replica.", "bytes",
			[]Query{{`process_resident_memory_bytes{job=~".*anymesh.*"}`, "{{instance}}"}},
		},
		{
			"Goroutines", "By replica; proportional to the number of sidecars.", "short",
			[]Query{{`go_goroutines{job=~".*anymesh.*"}`, "{{instance}}"}},
		},
	}},
}
