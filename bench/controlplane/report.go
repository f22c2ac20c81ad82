package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// The goals, and what a peer needs for the same: istiod with as many services and proxies, measured on a machine of the same kind.
const (
	goalCPU, peerCPU = 6, 185
	goalP99, peerP99 = 15, 111
	goalKB, peerKB   = 80, 800
)

func (r result) table(w io.Writer, s size) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) {
		fmt.Fprintf(t, "%s\t"+format+"\n", append([]any{what}, args...)...)
	}
	row("", "measured\tgoal\tistiod")
	row("CPU for 1000 changes, one at a time", "%.2f s\t<= %d s\t%d s", r.CPU, goalCPU, peerCPU)
	row("the same, of bare TLS connections", "%.2f s, %.1f times less\t\t", r.Floor, r.CPU/r.Floor)
	row("change until the last acknowledgement, p50", "%.1f ms\t\t", r.P50)
	row("change until the last acknowledgement, p99", "%.1f ms\t<= %d ms\t>= %d ms", r.P99, goalP99, peerP99)
	row("memory per client", "%.0f kB\t<= %d kB\t~%d kB", r.KB, goalKB, peerKB)
	row("bytes on the wire for a change", "%.0f, %.0f a client\t\t", r.Wire, r.Wire/float64(s.clients))
	row("CPU for 1000 changes at once", "%.2f s, done in %.1f s\t\t", r.BurstCPU, r.burstSeconds)
	row("CPU from the start until all are in sync", "%.2f s\t\t", r.Cold)
	row("memory without clients", "%.0f MB\t\t", r.base/1e6)
	_ = t.Flush() // to a terminal or a file that is checked when it is closed
}

// curve is how the results grow along one axis.
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
	fmt.Fprintf(t, "%s\tCPU-s / 1000 changes\tp50 ms\tp99 ms\tkB / client\tcold start CPU-s\t\n", c.axis)
	for _, p := range c.points {
		fmt.Fprintf(t, "%d\t%.2f\t%.1f\t%.1f\t%.0f\t%.2f\t\n", p.n, p.CPU, p.P50, p.P99, p.KB, p.Cold)
	}
	_ = t.Flush() // as above
}
