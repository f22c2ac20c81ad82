package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Goals: under attack, latencies are at most this multiple, and the memory at most this much more.
const (
	goalRatio = 3
	goalMB    = 128
)

func (c comparison) table(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%d services, %d sidecars\tquiet\tattacked\tgoal\n", c.Services, c.Sidecars)
	row := func(what string, quiet, attacked float64, unit, goal string) {
		fmt.Fprintf(t, "%s\t%.*f%s\t%.*f%s\t%s\n", what, decimals(quiet), quiet, unit, decimals(attacked), attacked, unit, goal)
	}
	ratio := func(quiet float64) string { return fmt.Sprintf("<= %.1f ms", goalRatio*quiet) }
	q, a := c.Quiet, c.Attacked
	row("failed calls", float64(q.Failed), float64(a.Failed), "", "0")
	row("calls", float64(q.Calls), float64(a.Calls), "", "")
	row("restarts of containers", float64(q.Restarts), float64(a.Restarts), "", "0")
	row("endpoint change until a sidecar has it, p50", q.EndpointP50, a.EndpointP50, " ms", "")
	row("endpoint change until a sidecar has it, p99", q.EndpointP99, a.EndpointP99, " ms", ratio(q.EndpointP99))
	row("creation of a pod, p50", q.CreateP50, a.CreateP50, " ms", "")
	row("creation of a pod, p99", q.CreateP99, a.CreateP99, " ms", ratio(q.CreateP99))
	row("resident memory of the control plane", q.Memory, a.Memory, " MB", fmt.Sprintf("<= %.0f MB", q.Memory+goalMB))
	row("CPU of the control plane", q.CPU, a.CPU, " s", "")
	row("attempts of the attacker", float64(q.Attempts), float64(a.Attempts), "", "")
	row("connections of the attacker", float64(q.Connected), float64(a.Connected), "", "")
	_ = t.Flush() // errors of standard output are ignored
}

// decimals is 1 for values that are no counts.
func decimals(v float64) int {
	if v == float64(int64(v)) || v >= 1000 {
		return 0
	}
	return 1
}
