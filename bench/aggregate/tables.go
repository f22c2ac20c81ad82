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
				l, ok := r.Lists[server][name]
				if !ok {
					continue
				}
				fmt.Fprintf(t, "%s\t%s\t%.4f s\t%.1f ms\t%.1f ms\t%.1f MB\t%+.0f MB", name, server, l.CPU, l.P50, l.P99, l.MB, l.Peak)
				if l.Aborted > 0 {
					fmt.Fprintf(t, "\t%d aborted", l.Aborted)
				}
				fmt.Fprintln(t)
			}
		}
	}
	if r.Watches != nil {
		fmt.Fprintln(t, "\nwatches\tserver\tp50\tp99\tp99.9\tCPU a delivery\tdeliveries\tevents/s\tclosed")
		for _, c := range watchCells {
			for _, server := range []string{"aggregator", "kube-apiserver"} {
				w := r.Watches[server][c.name]
				fmt.Fprintf(t, "%s\t%s\t%.1f ms\t%.1f ms\t%.1f ms\t%.0f us\t%d\t%.0f\t%d\n", c.name, server, w.P50, w.P99, w.P999, w.CPU,
					w.Deliveries, w.Rate, w.Closed)
			}
		}
	}
	servers := []string{"aggregator", "kube-apiserver"}
	if r.Starts != nil {
		fmt.Fprintf(t, "\n%d informers start\ttime\tCPU\tmemory\n", streamCount)
		for _, s := range servers {
			start := r.Starts[s]
			fmt.Fprintf(t, "%s\t%.1f s\t%.1f s\t%+.0f MB", s, start.Seconds, start.CPU, start.Peak)
			if start.Unfinished > 0 {
				fmt.Fprintf(t, "\t%d not in sync", start.Unfinished)
			}
			fmt.Fprintln(t)
		}
	}
	if d := r.Dead; d != nil {
		fmt.Fprintln(t, "\none of ten clusters is dead, p99\tbefore\tdead\tratio")
		fmt.Fprintf(t, "list by label\t%.1f ms\t%.1f ms\t%.2f\n", d.List, d.ListDead, d.ListRatio)
		fmt.Fprintf(t, "events of the others\t%.1f ms\t%.1f ms\t%.2f\n", d.Watch, d.WatchDead, d.WatchRatio)
	}
	if m := r.Membership; m != nil {
		fmt.Fprintf(t, "\n%d informers until they have the union\ttime\tof that the cache\tCPU\tCPU of the clients\n",
			informerCount)
		for _, c := range []struct {
			name string
			changeResult
		}{{"a cluster joins", m.Join}, {"a cluster leaves", m.Leave}} {
			fmt.Fprintf(t, "%s\t%.1f s\t%.1f s\t%.1f s\t%.1f s\n", c.name, c.Informers, c.Cache, c.CPU, c.Clients)
		}
	}
	if r.Latency != nil {
		fmt.Fprintln(t, "\nlatency\tGET p50\tp99\tPATCH p50\tp99")
		for _, s := range servers {
			l := r.Latency[s]
			fmt.Fprintf(t, "%s\t%.1f ms\t%.1f ms\t%.1f ms\t%.1f ms\n", s, l.GetP50, l.GetP99, l.PatchP50, l.PatchP99)
		}
	}
	if r.Reconnects != nil {
		fmt.Fprintln(t, "\nall watches reconnect\ttime\tCPU\tcannot resume")
		for _, s := range servers {
			fmt.Fprintf(t, "%s\t%.1f s\t%.1f s\t%d\n", s, r.Reconnects[s].Seconds, r.Reconnects[s].CPU, r.Reconnects[s].Expired)
		}
	}
	_ = t.Flush() // errors of standard output are ignored
}
