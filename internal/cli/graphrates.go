package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/cli/graph"
	"anymesh.dev/anymesh/internal/cli/requestrates"
	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// maxForwards limits concurrent port-forwards.
const maxForwards = 16

// sample is a pod whose requests are counted.
type sample struct {
	pod      corev1.Pod
	workload model.Key
	counter  sidecar.RequestCounter
	before   requestrates.Counts
	at       time.Time
	rates    map[string]requestrates.Rate
	err      error
}

// measureRates measures the requests of the sidecars of a cluster for some time, and adds their rates to the meshes. A
// note counts the sidecars that did not respond.
func (s *source) measureRates(
	ctx context.Context, state *engine.State, meshes []graph.Mesh, length time.Duration,
) ([]string, error) {
	if len(s.files) > 0 {
		return nil, exitError{2, errors.New("--rates needs a cluster: manifests have no requests")}
	}
	config, _, err := clusterConfig(s.kubeconfig, s.context)
	if err != nil {
		return nil, err
	}
	samples := samplesOf(state)
	forEach(samples, func(one *sample) {
		one.before, one.at, one.err = one.count(ctx, config)
	})
	select {
	case <-time.After(length):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	forEach(samples, func(one *sample) {
		if one.err != nil {
			return
		}
		after, at, err := one.count(ctx, config)
		one.rates, one.err = requestrates.Between(one.before, after, at.Sub(one.at)), err
	})
	rates := map[model.Key]map[string]requestrates.Rate{}
	var failed []error
	for _, one := range samples {
		if one.err != nil {
			failed = append(failed, one.err)
			continue
		}
		if rates[one.workload] == nil {
			rates[one.workload] = map[string]requestrates.Rate{}
		}
		for service, rate := range one.rates {
			rates[one.workload][service] = rates[one.workload][service].Add(rate)
		}
	}
	for workload, of := range rates {
		for _, m := range meshes {
			if m.Name == workload.Mesh {
				m.SetRates(workload.Name, of)
			}
		}
	}
	if len(failed) > 0 {
		return []string{fmt.Sprintf("the rates are without those of %s: %s", terminal.Count(len(failed), "sidecar", "sidecars"), failed[0])}, nil
	}
	return nil, nil
}

// samplesOf lists the running pods of workloads whose driver counts requests.
func samplesOf(state *engine.State) []*sample {
	var out []*sample
	for _, o := range state.Objects {
		pod, is := o.(*corev1.Pod)
		if !is || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		if _, injected := pod.Labels[sidecar.UUIDLabel]; !injected {
			continue
		}
		workload, member := state.WorkloadOf(string(pod.UID))
		counter, counts := sidecar.RequestCounterOf(cmp.Or(pod.Annotations[sidecar.ClassAnnotation], driver.Default))
		if member && counts {
			out = append(out, &sample{pod: *pod, workload: workload.Key, counter: counter})
		}
	}
	return out
}

// count reads the counters of the sidecar.
func (o *sample) count(ctx context.Context, config *rest.Config) (requestrates.Counts, time.Time, error) {
	text, err := portForwardGet(ctx, config, o.pod, sidecar.AgentPort, "/metrics")
	at := time.Now()
	if err != nil {
		return nil, at, fmt.Errorf("pod %s/%s: %w", o.pod.Namespace, o.pod.Name, err)
	}
	counts, err := requestrates.Parse(text, o.counter)
	if err != nil {
		return nil, at, fmt.Errorf("pod %s/%s: %w", o.pod.Namespace, o.pod.Name, err)
	}
	return counts, at, nil
}

// forEach runs a function for all samples, several at once.
func forEach(all []*sample, do func(*sample)) {
	var group errgroup.Group
	group.SetLimit(maxForwards)
	for one := range slices.Values(all) {
		group.Go(func() error {
			do(one)
			return nil
		})
	}
	_ = group.Wait() // the errors are in the samples
}
