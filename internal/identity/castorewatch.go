package identity

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// rereadInterval is the interval of reading the Secret although no change of it is known, in case that its watch fails.
const rereadInterval = time.Minute

// Run follows the Secret and takes due rotation steps until the context ends. It returns ErrReplaced if the CA was
// replaced.
func (k *CAStore) Run(ctx context.Context) error {
	changes := make(chan struct{}, 1)
	k.watch(ctx, func() {
		select {
		case changes <- struct{}{}:
		default:
		}
	})
	ticks := time.NewTicker(k.opts.PollInterval)
	defer ticks.Stop()
	for {
		err := k.sync(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrReplaced):
			return err
		case errors.Is(err, errUnchanged):
			k.metrics.reads.WithLabelValues("failed").Inc()
		case err != nil:
			k.metrics.reads.WithLabelValues("failed").Inc()
			k.opts.Logger.Warn("CA Secret is unusable, keeping the last valid CA", "error", err)
		default:
			k.metrics.reads.WithLabelValues("ok").Inc()
			if k.opts.Read != nil {
				k.opts.Read()
			}
		}
		if !k.awaitWork(ctx, changes, ticks.C, err != nil) {
			return nil
		}
	}
}

// watch calls changed after each change of the Secret and of the record, until the context ends.
func (k *CAStore) watch(ctx context.Context, changed func()) {
	core := k.client.CoreV1()
	secrets := core.Secrets(k.opts.Namespace)
	follow(ctx, k.client, k.opts.Secret, &corev1.Secret{}, changed, cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return secrets.List(ctx, o)
		},
		WatchFuncWithContext: secrets.Watch,
	})
	if k.opts.Unrecorded {
		return
	}
	records := core.ConfigMaps(k.opts.Namespace)
	follow(ctx, k.client, RecordConfigMap, &corev1.ConfigMap{}, changed, cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return records.List(ctx, o)
		},
		WatchFuncWithContext: records.Watch,
	})
}

// follow calls changed after each change of the object with a name, until the context ends.
func follow(ctx context.Context, client kubernetes.Interface, name string, object runtime.Object, changed func(),
	all cache.ListWatch) {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	one := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return all.ListWithContextFunc(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return all.WatchFuncWithContext(ctx, o)
		},
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(one, client),
		ObjectType:    object,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		},
	})
	go controller.RunWithContext(ctx)
}

// awaitWork waits until the Secret has to be read: after a change, for a due step of the rotation, to try again after
// an error, and now and then. It reports false when the context ends.
func (k *CAStore) awaitWork(ctx context.Context, changes <-chan struct{}, ticks <-chan time.Time, failed bool) bool {
	read := time.Now()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-changes:
			return true
		case <-ticks:
			if failed || k.stepDue() || time.Since(read) >= rereadInterval {
				return true
			}
		}
	}
}

// stepDue reports whether the rotation has a step to take, or the certificate that signs has expired.
func (k *CAStore) stepDue() bool {
	k.mu.Lock()
	expired := k.state.managed && k.now().After(k.state.signer.cert.NotAfter)
	k.mu.Unlock()
	if expired {
		return true
	}
	if _, due := k.reportDue(); due {
		return true
	}
	_, _, steps, err := k.dueSteps()
	return err != nil || len(steps) > 0
}
