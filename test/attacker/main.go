// Command attacker attacks a sidecar and a control plane from a plain pod, for a time.
//
//	attacker --steal '/proc/[0-9]*/root' --certificates folder --control 10.1.0.9
//	attacker --certificates folder --control 10.1.0.9,fd00::9 --sidecar 10.1.0.5,fd00::5 --workload colors/tally
//
// In: the addresses of the targets, a workload that reviews name, and certificates of sidecars. The first command takes
// these from the root folders of pods, and ends. All kinds of attacks run at once, each in a process of its own: they
// share the processor evenly. Out: as JSON, how many attempts each kind made, and how many got a connection or an
// answer. from-pods.sh runs it in the networks of pods.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	duration                                               time.Duration
	control, sidecar, workload, kinds, certificates, steal string
}

func main() {
	var o options
	flag.DurationVar(&o.duration, "duration", 10*time.Second, "how long the attacks run")
	flag.StringVar(&o.control, "control", "", "addresses of the control plane, separated by commas")
	flag.StringVar(&o.sidecar, "sidecar", "", "addresses of a pod with a sidecar, separated by commas")
	flag.StringVar(&o.workload, "workload", "nowhere/attacker", "NAMESPACE/APP of the pods in reviews; APP is their label app")
	flag.StringVar(&o.kinds, "kinds", "", "kinds of attacks, separated by commas; by default all, except those that need certificates if there are none")
	flag.StringVar(&o.certificates, "certificates", "", "folder that has a folder with tls.crt and tls.key for each certificate")
	flag.StringVar(&o.steal, "steal", "", "write certificates of pods into --certificates, and end: the pattern of the root folders of pods")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "attacker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.steal != "" {
		return steal(ctx, o)
	}
	results, err := runKinds(ctx, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

// runKinds runs one kind of attack in this process, or several in one each.
func runKinds(ctx context.Context, o options) (map[string]counts, error) {
	var chosen []attack
	for _, a := range attacks {
		if o.kinds == "" && (a.kind != unfinishedMessage || o.certificates != "") ||
			slices.Contains(strings.Split(o.kinds, ","), a.kind) {
			chosen = append(chosen, a)
		}
	}
	switch len(chosen) {
	case 0:
		return nil, fmt.Errorf("--kinds %q: there are no such kinds", o.kinds)
	case 1:
		c, err := chosen[0].run(ctx, o)
		return map[string]counts{chosen[0].kind: c}, err
	}
	return runEach(ctx, o, chosen)
}
