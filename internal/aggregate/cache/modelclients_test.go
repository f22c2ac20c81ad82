package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
)

// informer is the reflector and store of a client-go informer, with a short backoff.
type informer struct {
	name  string
	view  view
	store clientcache.Store
}

// startInformer starts an informer with a list or with streamed initial events.
func startInformer(t testing.TB, client kubernetes.Interface, v view, streaming bool) informer {
	lw := &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector, o.FieldSelector = v.label, v.field
			return client.CoreV1().Pods("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector, o.FieldSelector = v.label, v.field
			return client.CoreV1().Pods("").Watch(ctx, o)
		},
	}
	var source clientcache.ListerWatcher = lw
	if !streaming {
		source = noStreaming{lw}
	}
	i := informer{fmt.Sprintf("%s streaming=%v %+v", client.CoreV1().RESTClient().Get().URL(), streaming, v), v, clientcache.NewStore(clientcache.MetaNamespaceKeyFunc)}
	reflector := clientcache.NewReflectorWithOptions(source, &corev1.Pod{}, i.store, clientcache.ReflectorOptions{
		Backoff: &wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1, Cap: time.Second, Steps: 10},
	})
	go reflector.RunWithContext(t.Context())
	return i
}

// noStreaming makes an informer list.
type noStreaming struct{ *clientcache.ListWatch }

func (noStreaming) IsWatchListSemanticsUnSupported() bool { return true }

func (i informer) state() contents {
	out := contents{}
	for _, o := range i.store.List() {
		p := o.(*corev1.Pod)
		text, _, err := contentOf(p)
		if err != nil {
			text = err.Error()
		}
		out[p.Namespace+"/"+p.Name] = text
	}
	return out
}

// pager is a client that reads lists in pages.
type pager struct {
	client kubernetes.Interface
	oracle *oracle
	count  map[string]int
}

// read reads a list, and calls between before each page but the first. All pages together have the state of the first.
func (p *pager) read(ctx context.Context, limit int64, between func()) error {
	got, first, last := contents{}, "", ""
	o := metav1.ListOptions{Limit: limit}
	for {
		list, err := p.client.CoreV1().Pods("").List(ctx, o)
		switch {
		case apierrors.IsResourceExpired(err):
			p.count["pages expired"]++
			return nil
		case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
			p.count["pages of a replica that is behind"]++
			return nil
		case err != nil:
			return err
		case first != "" && list.ResourceVersion != first:
			return fmt.Errorf("a page has version %s after %s", decodeVersion(list.ResourceVersion), decodeVersion(first))
		}
		first = list.ResourceVersion
		for _, pod := range list.Items {
			text, _, err := contentOf(&pod)
			if err != nil {
				return err
			}
			key := pod.Namespace + "/" + pod.Name
			if key <= last {
				return fmt.Errorf("pages have %s after %s", key, last)
			}
			got[key], last = text, key
		}
		if o.Continue = list.Continue; o.Continue == "" {
			break
		}
		between()
	}
	if err := p.oracle.check(first, got, view{}); err != nil {
		return fmt.Errorf("pages: %w", err)
	}
	p.count["pages to the end"]++
	exact := metav1.ListOptions{ResourceVersion: first, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	if first == "" {
		return nil
	}
	between()
	list, err := p.client.CoreV1().Pods("").List(ctx, exact)
	if err != nil {
		return nil //nolint:nilerr // the version is too old, or the replica is behind
	}
	p.count["exact lists"]++
	again := contents{}
	for _, pod := range list.Items {
		again[pod.Namespace+"/"+pod.Name], _, err = contentOf(&pod)
		if err != nil {
			return err
		}
	}
	return equal("list of an earlier version", again, got)
}
