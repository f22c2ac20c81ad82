package main

// result is what was measured. Ratios are the aggregator by kube-apiserver.
type result struct {
	Pods     int     `json:"pods"`
	PodBytes float64 `json:"pod_bytes"`
	KB       float64 `json:"kb_per_pod"`
	// ListCPU is for a full list without TLS, ListRatio compares full lists with TLS.
	ListCPU   float64 `json:"list10k_cpu_s"`
	ListRatio float64 `json:"list10k_vs_apiserver"`
	// WatchRatio is that of the 99th percentiles of the latency of events, in the cell where it is worst.
	WatchRatio float64                           `json:"watch_p99_vs_apiserver"`
	Watches    map[string]map[string]watchResult `json:"watches,omitempty"`
	Starts     map[string]startResult            `json:"informers,omitempty"`
	// DeadRatio is the worse one of lists and events.
	DeadRatio  float64                          `json:"dead_cluster_p99_ratio"`
	Dead       *deadResult                      `json:"dead_cluster,omitempty"`
	Membership *membershipResult                `json:"membership,omitempty"`
	Latency    map[string]latencyResult         `json:"latency,omitempty"`
	Reconnects map[string]reconnectResult       `json:"reconnects,omitempty"`
	Memory     memory                           `json:"memory"`
	Large      *memory                          `json:"memory_large,omitempty"`
	Lists      map[string]map[string]listResult `json:"lists,omitempty"`
}

// memory is the cost of the cache.
type memory struct {
	Pods int `json:"pods"`
	// KB is the live heap of a pod after a garbage collection. RSS is the resident memory of the process in MB.
	KB  float64 `json:"kb_per_pod"`
	RSS float64 `json:"rss_mb"`
	// Ready is the time until all pods are cached, CPU what it costs, in seconds.
	Ready float64 `json:"ready_s"`
	CPU   float64 `json:"ready_cpu_s"`
}
