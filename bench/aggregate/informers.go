package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// startLimit is the time after which informers that are not in sync are counted.
const startLimit = 2 * time.Minute

// streamCount is the number of informers that start at once.
const streamCount = 32

// startResult is the cost of informers that start at once, with lists as streams.
type startResult struct {
	// Seconds is the time until the last informer has all objects; CPU is that of the server. Peak is by how much the
	// resident memory grew, in MB.
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_s"`
	Peak    float64 `json:"peak_mb"`
	// Unfinished counts the informers of kube-apiserver that were not in sync at the end.
	Unfinished int `json:"unfinished,omitempty"`
}

// informers measures informers that start at once.
func (b *bench) informers(ctx context.Context) error {
	b.result.Starts = map[string]startResult{}
	for _, t := range []target{b.ours.encrypted(), b.plain()} {
		r, err := b.startInformers(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		b.result.Starts[t.name] = r
		progress("%d informers at the %s: %.1f s", streamCount, t.name, r.Seconds)
	}
	return nil
}

func (b *bench) startInformers(ctx context.Context, t target) (startResult, error) {
	watchers, err := newWatchers(ctx, t, streamCount, func(int) (url.Values, func(*podState) bool) {
		return url.Values{"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}}, nil
	})
	if err != nil {
		return startResult{}, err
	}
	defer closeAll(watchers)
	if err := t.resetPeak(); err != nil {
		return startResult{}, err
	}
	resident, _, err := t.resident()
	if err != nil {
		return startResult{}, err
	}
	before, err := t.cpu()
	if err != nil {
		return startResult{}, err
	}
	begun := time.Now()
	if err := openAll(ctx, watchers, streamCount); err != nil {
		return startResult{}, err
	}
	unfinished := 0
	err = within(ctx, startLimit, "informers are not in sync", func() (err error) {
		unfinished = 0
		for i, w := range watchers {
			w.mutex.Lock()
			initial, ended := w.initial, w.ended
			w.mutex.Unlock()
			if ended == 0 {
				unfinished++
				err = fmt.Errorf("informer %d has %d pods", i, initial)
				continue
			}
			if ended > 1 || initial != b.pods {
				return fmt.Errorf("informer %d has %d pods, not %d, and %d ends", i, initial, b.pods, ended)
			}
		}
		return err
	})
	if err != nil && (t.strict || unfinished == 0) {
		return startResult{}, err
	}
	r := startResult{Seconds: time.Since(begun).Seconds(), Unfinished: unfinished}
	after, err := t.cpu()
	if err != nil {
		return r, err
	}
	_, peak, err := t.resident()
	r.CPU, r.Peak = after-before, peak-resident
	return r, err
}

// informer is one of client-go, for the metadata of pods.
type informer struct {
	cache.SharedIndexInformer
	stop context.CancelFunc
}

func newInformer(ctx context.Context, t target) (*informer, error) {
	config := rest.CopyConfig(t.config)
	config.QPS = -1
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	pods := metav1.SchemeGroupVersion.WithResource("pods")
	pods.Group, pods.Version = "", "v1"
	i := &informer{metadatainformer.NewFilteredMetadataInformer(c, pods, "", 0, cache.Indexers{}, nil).Informer(), cancel}
	go i.RunWithContext(ctx)
	return i, nil
}

// store has the number of the last event of each pod.
func (i *informer) store() (map[string]int, error) {
	out := map[string]int{}
	for _, o := range i.GetStore().List() {
		p := o.(*metav1.PartialObjectMetadata)
		n, err := strconv.Atoi(p.Annotations[sequence])
		if err != nil {
			return nil, err
		}
		out[p.Namespace+"/"+p.Name] = n
	}
	return out, nil
}

// checkStores is the oracle for informers: their stores equal the union.
func (b *bench) checkStores(ctx context.Context, informers []*informer) error {
	return eventually(ctx, "oracle", func() error {
		want := b.want()
		for n, i := range informers {
			got, err := i.store()
			if err != nil {
				return err
			}
			if err := equal(fmt.Sprintf("the store of informer %d", n), got, want); err != nil {
				return err
			}
		}
		return nil
	})
}
