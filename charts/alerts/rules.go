package alerts

const critical, warning = "critical", "warning"

var all = []Alert{
	{
		"AnymeshControlPlaneAbsent", `absent(anymesh_leader)`, "5m", critical,
		"No control plane is scraped.",
		"No control plane runs, or Prometheus does not reach it. Running sidecars keep their configuration and serve on, but pods with a sidecar are not " +
			"created, and changes have no effect.",
		"Run `anymesh check`. If the control plane is ready, check that Prometheus scrapes port 9090 of its pods: by their annotations, or with podMonitor.enabled.",
	},
	{
		"AnymeshNoLeader", `sum(anymesh_leader) < 1`, "5m", critical,
		"No replica of the control plane is the leader.",
		"Statuses, finalizers and Routes are not written. Sidecars still get changes.",
		"Check the logs of the Deployment anymesh for errors about the Lease anymesh, and whether the API server responds.",
	},
	{
		"AnymeshRootExpires", `min by (role) (anymesh_identity_root_expiry_timestamp_seconds) - time() < 7 * 86400`, "1h", critical,
		"A root certificate ({{ $labels.role }}) expires in less than 7 days.",
		"When the root expires, connections between sidecars fail. The control plane rotates it after four fifths of its lifetime. With a rootLifetime of less " +
			"than 35 days, this alert is true during a normal rotation.",
		"Check the log of the leader for errors about the Secret anymesh-ca, and the metric `anymesh_identity_rotation_phase`. See docs/security.md.",
	},
	{
		"AnymeshCertificateExpires", `anymesh_identity_serving_expiry_timestamp_seconds - time() < 3600 or anymesh_agent_certificate_expiry_timestamp_seconds - time() < 600`, "5m", critical,
		"A certificate of the control plane or of a sidecar is not renewed.",
		"Sidecars and the API server cannot connect to a control plane with an expired certificate; connections to a workload with one fail. Certificates are renewed " +
			"long before. With a certificateLifetime of less than two hours, this alert is true in normal operation.",
		"Restart the pod. Its log tells why the certificate is not renewed; see AnymeshAuthorityUnreadable and AnymeshCertificatesFail.",
	},
	{
		"AnymeshAuthorityUnreadable", `sum(rate(anymesh_identity_ca_reads_total{result="failed"}[10m])) > 0`, "15m", critical,
		"The control plane cannot read its certificate authority.",
		"The last valid authority stays in use, but new replicas do not start, and a rotation of the root does not continue.",
		"The log of the control plane names the key of the Secret anymesh-ca to repair. If the error is a permission, install the chart again.",
	},
	{
		"AnymeshCertificatesFail", `sum by (namespace, pod) (increase(anymesh_agent_certificates_total{result="failed"}[30m])) > 3`, "15m", warning,
		"A sidecar gets no certificate.",
		"The agent of a pod repeatedly got no certificate from the control plane. It uses its certificate until that expires.",
		"Read the log of the sidecar's container. `anymesh check` lists pods that trust another authority: restart their workloads.",
	},
	{
		"AnymeshCertificatesRefused", `sum by (reason) (rate(anymesh_identity_refused_total[10m])) > 0`, "15m", warning,
		"The control plane refuses certificates: {{ $labels.reason }}.",
		"Pods ask for certificates that they must not have, or with a token that is not valid.",
		"The log of the control plane names the pods. A clock that is wrong and a service account that was deleted are common causes.",
	},
	{
		"AnymeshConfigurationRejected", `sum by (driver) (anymesh_delivery_rejected) > 0`, "5m", warning,
		"Sidecars of driver {{ $labels.driver }} reject configuration.",
		"These sidecars keep their last valid configuration, so that some changes have no effect on them.",
		"The status of the objects that caused it names the error: `anymesh check` and `anymesh describe` print it.",
	},
	{
		"AnymeshPropagationSlow", `histogram_quantile(0.99, sum by (le) (rate(anymesh_xds_ack_latency_seconds_bucket[5m]))) > 10`, "15m", warning,
		"Changes take longer than 10 s until sidecars use them.",
		"Endpoints that are gone get requests for longer, and weight shifts are late.",
		"Compare the stages of a change on the dashboard. High CPU of the control plane: raise resources. Slow acknowledgements: sidecars lack CPU.",
	},
	{
		"AnymeshEvaluationsFail", `sum(increase(anymesh_engine_failed_evaluations_total[10m])) > 0`, "1m", warning,
		"The control plane failed to evaluate objects.",
		"This is a bug in Anymesh. The last good result stays in use for these objects, others are not affected.",
		"Report the stack in the log of the control plane.",
	},
	{
		"AnymeshStatusWritesFail", `sum(rate(anymesh_status_writes_total{result="failed"}[10m])) > 0`, "15m", warning,
		"Statuses of objects are not written.",
		"Conditions of objects and readiness gates of pods are outdated.",
		"The log of the leader has the error. If it is a permission, install the chart again, with the same values.",
	},
	{
		"AnymeshQueueFull", `max by (queue) (anymesh_workqueue_depth) > 1000`, "15m", warning,
		"More than 1000 objects wait in the queue {{ $labels.queue }}.",
		"Statuses or finalizers are late: deletions of objects may wait.",
		"Check whether the API server limits or refuses requests. If it has capacity, raise statusWritesPerSecond.",
	},
	{
		"AnymeshClientsRefused", `sum by (driver, reason) (rate(anymesh_xds_refused_total[5m])) > 0`, "15m", warning,
		"Sidecars cannot connect to the control plane: {{ $labels.reason }}.",
		"These sidecars keep their configuration and get no changes.",
		"docs/limits.md describes each reason. `anymesh proxy status` lists the sidecars that are connected.",
	},
	{
		"AnymeshWebhookRequestsRefused", `sum by (reason) (rate(anymesh_webhook_refused_total[5m])) > 0`, "15m", warning,
		"Webhook requests are refused: {{ $labels.reason }}.",
		"Pods with a sidecar or objects of meshes are not created or changed.",
		"docs/limits.md describes each reason. More replicas serve more requests.",
	},
}
