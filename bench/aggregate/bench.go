package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/rest"
)

// bench has the servers, and what was measured.
type bench struct {
	options
	api     *apiServer
	ours    *aggregator
	corpus  []json.RawMessage
	members []*member
	result  result
	// events is the last number of the annotation of a pod.
	events int
}

// newBench starts the servers, and measures the memory of the aggregator's cache.
func newBench(ctx context.Context, o options) (*bench, error) {
	b := &bench{options: o}
	b.result.Pods = o.pods
	var err error
	if b.api, err = startAPIServer(ctx, o.bin); err != nil {
		return nil, err
	}
	begun := time.Now()
	if b.corpus, err = b.api.fill(ctx, o.pods); err != nil {
		return b, err
	}
	for _, raw := range b.corpus {
		b.result.PodBytes += float64(len(raw)) / float64(o.pods)
	}
	progress("kube-apiserver has %d pods of %.0f bytes (%.0f s)", o.pods, b.result.PodBytes, time.Since(begun).Seconds())
	b.result.Memory, err = b.start(ctx, b.corpus)
	b.result.KB = b.result.Memory.KB
	return b, err
}

// start starts the members and the aggregator.
func (b *bench) start(ctx context.Context, corpus []json.RawMessage) (memory, error) {
	var r memory
	var err error
	if b.members, err = newMembers(corpus); err != nil {
		return r, err
	}
	if b.ours, err = startAggregator(ctx, b.api); err != nil {
		return r, err
	}
	for _, m := range b.members {
		if err := b.ours.join(ctx, m); err != nil {
			return r, err
		}
	}
	if err := b.ours.joinControl(ctx); err != nil {
		return r, err
	}
	if err := b.ours.ready(ctx); err != nil {
		return r, err
	}
	before, err := b.ours.liveHeap(ctx)
	if err != nil {
		return r, err
	}
	cpu, err := b.ours.cpu()
	if err != nil {
		return r, err
	}
	begun := time.Now()
	b.ours.profile(ctx, b.profiles, fmt.Sprintf("start-%d", len(corpus)), 5)
	if err := b.ours.register(ctx); err != nil {
		return r, err
	}
	if err := b.ours.await(ctx, len(corpus)); err != nil {
		return r, err
	}
	r.Ready = time.Since(begun).Seconds()
	used, err := b.ours.cpu()
	if err != nil {
		return r, err
	}
	r.CPU = used - cpu
	after, err := b.ours.liveHeap(ctx)
	if err != nil {
		return r, err
	}
	if b.profiles != "" {
		heap, err := fetch(ctx, http.DefaultClient, "http://"+b.ours.debug+"/debug/pprof/heap?gc=1")
		if err != nil {
			return r, err
		}
		if err := os.WriteFile(filepath.Join(b.profiles, fmt.Sprintf("heap-%d", len(corpus))), heap, 0o644); err != nil {
			return r, err
		}
	}
	r.Pods, r.KB = len(corpus), (after-before)/float64(len(corpus))/1e3
	r.RSS, _, err = b.ours.resident()
	progress("the aggregator has %d pods: %.2f kB each", len(corpus), r.KB)
	return r, err
}

// large measures the memory of more pods.
func (b *bench) large(ctx context.Context) error {
	if b.options.large == 0 {
		return nil
	}
	corpus, err := multiply(b.corpus, b.options.large/b.pods)
	if err != nil {
		return err
	}
	if err := b.stopFleet(); err != nil {
		return err
	}
	r, err := b.start(ctx, corpus)
	b.result.Large = &r
	return err
}

// newMembers divides pods among virtual clusters, by node.
func newMembers(corpus []json.RawMessage) ([]*member, error) {
	pods := make([][]*podState, clusterCount)
	for _, raw := range corpus {
		p, err := newPodState(raw)
		if err != nil {
			return nil, err
		}
		var node int
		if _, err := fmt.Sscanf(p.node, "node-%d", &node); err != nil {
			return nil, err
		}
		pods[node%clusterCount] = append(pods[node%clusterCount], p)
	}
	var members []*member
	for i, own := range pods {
		members = append(members, newMember(fmt.Sprintf("member-%d", i), own))
	}
	return members, nil
}

// stopFleet removes the members, the registries and the aggregator.
func (b *bench) stopFleet() error {
	if b.ours == nil {
		return nil
	}
	ctx := context.Background()
	err := errors.Join(b.ours.unregister(ctx), b.ours.leave(ctx, control))
	for _, m := range b.members {
		err = errors.Join(err, b.ours.leave(ctx, m.name))
	}
	err = errors.Join(err, b.ours.stop())
	for _, m := range b.members {
		m.stop()
	}
	b.ours, b.members = nil, nil
	return err
}

func (b *bench) stop() {
	if b.ours != nil {
		if err := b.ours.stop(); err != nil {
			progress("%v", err)
		}
	}
	for _, m := range b.members {
		m.stop()
	}
	b.api.stop()
}

// want returns the union that the members have.
func (b *bench) want() map[string]int {
	out := map[string]int{}
	for _, m := range b.members {
		for _, p := range m.snapshot() {
			out[p.key()] = p.sequence
		}
	}
	return out
}

// plain is the kube-apiserver.
func (b *bench) plain() target {
	return target{b.api.process, "kube-apiserver", b.api.direct.Host, rest.CopyConfig(b.api.direct), false}
}

// lists measures lists of the aggregator with and without TLS, and of kube-apiserver.
func (b *bench) lists(ctx context.Context) error {
	b.result.Lists = map[string]map[string]listResult{}
	targets := []target{b.ours.unencrypted(), b.ours.encrypted(), b.plain()}
	for _, t := range targets {
		got, err := union(ctx, t)
		if err != nil {
			return err
		}
		if err := equal("a list of the "+t.name, got, b.want()); err != nil {
			return err
		}
		b.result.Lists[t.name] = map[string]listResult{}
	}
	for _, t := range targets {
		if err := checkTable(ctx, t); err != nil {
			return err
		}
	}
	for _, c := range listCells(b.pods) {
		for _, t := range targets {
			if t.name == targets[0].name {
				b.ours.profile(ctx, b.profiles, "list-"+c.name, 2)
			}
			r, err := lists(ctx, t, c)
			if err != nil {
				return err
			}
			b.result.Lists[t.name][c.name] = r
		}
		progress("lists: %s", c.name)
	}
	full := func(t target) float64 { return b.result.Lists[t.name]["full"].CPU }
	b.result.ListCPU, b.result.ListRatio = full(targets[0]), full(targets[1])/full(targets[2])
	return nil
}

// listNames are the names of the cells in their order.
func listNames(pods int) []string {
	var names []string
	for _, c := range listCells(pods) {
		names = append(names, c.name)
	}
	return slices.Clip(names)
}
