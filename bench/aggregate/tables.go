package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

func (r result) tables(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "pods\tlive heap a pod\tRSS\tready after\tCPU of that")
	for _, m := range []*memory{&r.Memory, r.Large} {
		if m != nil {
			fmt.Fprintf(t, "%d\t%.2f kB\t%.0f MB\t%.1f s\t%.1f s\n", m.Pods, m.KB, m.RSS, m.Ready, m.CPU)
		}
	}
	if r.Lists != nil {
		fmt.Fprintln(t, "\nlist\tserver\tCPU\tp50\tp99\tsize\tmemory")
		for _, name := range listNames(r.Pods) {
			for _, server := range []string{"aggregator without TLS", "aggregator", "kube-apiserver"} {
				l := r.Lists[server][name]
				fmt.Fprintf(t, "%s\t%s\t%.4f s\t%.1f ms\t%.1f ms\t%.1f MB\t+%.0f MB\n", name, server, l.CPU, l.P50, l.P99, l.MB, l.Peak)
			}
		}
	}
	if r.Watches != nil {
		fmt.Fprintln(t, "\nwatches\tserver\tp50\tp99\tp99.9\tCPU a delivery\tdeliveries")
		for _, c := range watchCells {
			for _, server := range []string{"aggregator", "kube-apiserver"} {
				w := r.Watches[server][c.name]
				fmt.Fprintf(t, "%s\t%s\t%.1f ms\t%.1f ms\t%.1f ms\t%.0f us\t%d\n", c.name, server, w.P50, w.P99, w.P999, w.CPU,
					w.Deliveries)
			}
		}
	}
	_ = t.Flush() // errors of standard output are ignored
}
