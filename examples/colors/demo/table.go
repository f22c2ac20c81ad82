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

// Escape sequences; plain output has none.
const (
	plain = "\x1b[0m"
	dim   = "\x1b[2m"
	bold  = "\x1b[1m"
)

// colors of versions that have the name of a color.
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

// show sets weights, prints who answers for a while, and checks it.
func (d *demo) show(ctx context.Context, p phase) error {
	if err := d.setWeights(ctx, p.red, p.blue); err != nil {
		return err
	}
	fmt.Println()
	d.say(fmt.Sprintf("%sweights of color: red %d, blue %d%s", d.color(bold), p.red, p.blue, d.color(plain)))
	if err := d.settle(ctx, p); err != nil {
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

// settle counts anew until the new weights are seen in the traffic: from then on all requests count.
func (d *demo) settle(ctx context.Context, p phase) error {
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

// check compares the counts with the weights: within 4.5 standard deviations, and without a failure.
func check(counts map[string]map[string]int64, p phase) error {
	for service, versions := range counts {
		for version, n := range versions {
			if strings.HasPrefix(version, "failed") {
				return fmt.Errorf("%d calls of %s %s", n, service, version)
			}
		}
	}
	if len(counts) < 3 {
		return fmt.Errorf("only %d of 3 services answer", len(counts))
	}
	color := counts["color.colors.svc.cluster.local:8080"]
	red, total := float64(color["red"]), float64(color["red"]+color["blue"])
	want := float64(p.red) / float64(p.red+p.blue)
	if deviation := math.Sqrt(total * want * (1 - want)); total == 0 || math.Abs(red-total*want) > 4.5*deviation {
		return fmt.Errorf("of %.0f calls %.0f went to red; the weights are %d to %d", total, red, p.red, p.blue)
	}
	return nil
}

const barWidth = 40

// table shows the counts, a row a version, with a bar for its share.
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
