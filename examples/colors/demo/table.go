package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// Escape sequences, which are empty without a terminal.
const (
	plain = "\x1b[0m"
	dim   = "\x1b[2m"
	bold  = "\x1b[1m"
)

// colors are the escape sequences for versions named after colors.
var colors = map[string]string{"red": "\x1b[31m", "blue": "\x1b[34m", "tally": "\x1b[32m", "store": "\x1b[33m"}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
}

func (d *demo) color(code string) string {
	if d.live {
		return code
	}
	return ""
}

// runPhase sets weights, prints the responses for the duration of the phase, and checks them.
func (d *demo) runPhase(ctx context.Context, p phase) error {
	if err := d.setWeights(ctx, p.red, p.blue); err != nil {
		return err
	}
	fmt.Println()
	d.logStep(fmt.Sprintf("%sweights of color: red %d, blue %d%s", d.color(bold), p.red, p.blue, d.color(plain)))
	if err := d.waitForWeights(ctx, p); err != nil {
		return err
	}
	end := time.Now().Add(p.look)
	printed := 0
	var counts map[string]map[string]int64
	for time.Now().Before(end) {
		var err error
		if counts, err = d.counts(ctx); err != nil {
			return err
		}
		table := d.table(counts)
		if d.live && printed > 0 {
			fmt.Printf("\x1b[%dA", printed)
		}
		if d.live {
			fmt.Print(table)
			printed = strings.Count(table, "\n")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
	if !d.live {
		fmt.Print(d.table(counts))
	}
	return check(counts, p)
}

// waitForWeights resets the counts until the traffic follows the new weights.
func (d *demo) waitForWeights(ctx context.Context, p phase) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		if err := d.resetCounts(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("traffic does not follow the weights red %d, blue %d", p.red, p.blue)
		case <-time.After(time.Second):
		}
		counts, err := d.counts(ctx)
		if err != nil {
			return err
		}
		if check(counts, p) == nil {
			return nil
		}
	}
}

// check compares the counts with the weights: deviations up to 4.5 standard deviations are accepted, failures are
// not.
func check(counts map[string]map[string]int64, p phase) error {
	for service, versions := range counts {
		for version, n := range versions {
			if strings.HasPrefix(version, "failed") {
				return fmt.Errorf("%d calls to %s: %s", n, service, version)
			}
		}
	}
	if len(counts) < 3 {
		return fmt.Errorf("only %d of 3 services respond", len(counts))
	}
	color := counts["color.colors.svc.cluster.local:8080"]
	red, total := float64(color["red"]), float64(color["red"]+color["blue"])
	want := float64(p.red) / float64(p.red+p.blue)
	if deviation := math.Sqrt(total * want * (1 - want)); total == 0 || math.Abs(red-total*want) > 4.5*deviation {
		return fmt.Errorf("%.0f of %.0f calls went to red; the weights are %d:%d", red, total, p.red, p.blue)
	}
	return nil
}

const barWidth = 40

// table returns one row per version with a bar for its share.
func (d *demo) table(counts map[string]map[string]int64) string {
	var out strings.Builder
	fmt.Fprintf(&out, "  %-36s %-10s %8s %7s\x1b[K\n", "SERVICE", "VERSION", "REQUESTS", "SHARE")
	for _, service := range slices.Sorted(maps.Keys(counts)) {
		var total int64
		for _, n := range counts[service] {
			total += n
		}
		for _, version := range slices.Sorted(maps.Keys(counts[service])) {
			n := counts[service][version]
			share := float64(n) / float64(total)
			bar := strings.Repeat("█", int(math.Round(share*barWidth)))
			fmt.Fprintf(&out, "  %-36s %-10s %8d %6.1f%% %s%s%s\x1b[K\n", service, version, n, share*100,
				d.color(colors[version]), bar, d.color(plain))
		}
	}
	if !d.live {
		return strings.ReplaceAll(out.String(), "\x1b[K", "")
	}
	return out.String()
}
