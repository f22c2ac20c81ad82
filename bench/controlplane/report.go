package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Performance goals.
const (
	goalCPU = 6
	goalP99 = 15
	goalKB  = 80
)

func (r result) table(w io.Writer, s size) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	peer, head := r.Istiod, "\tistiod\tistiod / anymesh"
	if peer == nil {
		peer, head = &result{}, ""
	}
	row := func(what, unit, goal string, ours, theirs float64) {
		fmt.Fprintf(t, "%s\t%.*f %s\t%s", what, decimals(ours), ours, unit, goal)
		if theirs > 0 {
			fmt.Fprintf(t, "\t%.*f %s\t%.1f", decimals(theirs), theirs, unit, theirs/ours)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintf(t, "\tanymesh\tgoal%s\n", head)
	row("CPU for 1000 sequential changes", "s", fmt.Sprintf("<= %d s", goalCPU), r.CPU, peer.CPU)
	row("the same bytes on plain TLS connections", "s", "", r.Floor, 0)
	row("latency from a change to the last ACK, p50", "ms", "", r.P50, peer.P50)
	row("latency from a change to the last ACK, p99", "ms", fmt.Sprintf("<= %d ms", goalP99), r.P99, peer.P99)
	row("resident memory per client", "kB", fmt.Sprintf("<= %d kB", goalKB), r.KB, peer.KB)
	row("live heap of that", "kB", "", r.LiveKB, peer.LiveKB)
	row("bytes on the wire per change and client", "", "", r.Wire/float64(s.clients), peer.Wire/float64(s.clients))
	row("CPU for 1000 concurrent changes", "s", "", r.BurstCPU, peer.BurstCPU)
	row("time from 1000 concurrent changes to the last ACK", "s", "", r.BurstSeconds, peer.BurstSeconds)
	row("CPU from start until all clients are in sync", "s", "", r.Cold, peer.Cold)
	row("resident memory without clients", "MB", "", r.Base, peer.Base)
	row("resident memory with a client of each workload", "MB", "", r.First, peer.First)
	_ = t.Flush() // errors of standard output are ignored
}

// decimals returns the number of decimals for a value.
func decimals(v float64) int {
	switch {
	case v < 10:
		return 2
	case v < 100:
		return 1
	}
	return 0
}

// curve contains the results along one axis.
type curve struct {
	axis   string
	points []point
}

type point struct {
	n int
	result
}

func (c curve) table(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\tCPU-s / 1000 changes\tp50 ms\tp99 ms\tlive kB / client\tcold start CPU-s\t\n", c.axis)
	for _, p := range c.points {
		fmt.Fprintf(t, "%d\t%.2f\t%.1f\t%.1f\t%.0f\t%.2f\t\n", p.n, p.CPU, p.P50, p.P99, p.LiveKB, p.Cold)
	}
	_ = t.Flush() // as above
}
