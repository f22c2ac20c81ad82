package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	aggregatedcache "anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/version"
)

// modelNamespace is the namespace of the pods of the model.
const modelNamespace = "model"

// follower is the reflector and store of an informer, which checks what it gets.
type follower struct {
	cache.Store
	name, selector string

	mutex sync.Mutex
	// newest is the newest version of each object by uid.
	newest map[string]uint64
	wrong  []string
}

// follow starts followers of the model's pods: with a list and with streamed initial events, of all pods and of those
// with a label.
func follow(t *testing.T, config *rest.Config) []*follower {
	var out []*follower
	for _, streaming := range []bool{true, false} {
		for _, selector := range []string{"", "app=a"} {
			f := &follower{
				Store: cache.NewStore(cache.MetaNamespaceKeyFunc), selector: selector, newest: map[string]uint64{},
				name: fmt.Sprintf("streaming=%v selector=%q", streaming, selector),
			}
			kube := kubernetes.NewForConfigOrDie(rest.CopyConfig(config))
			reflector := cache.NewReflectorWithOptions(podSource(kube, modelNamespace, selector, streaming), &corev1.Pod{}, f,
				cache.ReflectorOptions{Backoff: &wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Cap: time.Second, Steps: 20}})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				reflector.RunWithContext(ctx)
			}()
			t.Cleanup(func() {
				cancel()
				<-done
			})
			out = append(out, f)
		}
	}
	return out
}

func (f *follower) Add(o any) error    { f.check(o); return f.Store.Add(o) }
func (f *follower) Update(o any) error { f.check(o); return f.Store.Update(o) }

func (f *follower) Replace(all []any, at string) error {
	for _, o := range all {
		f.check(o)
	}
	return f.Store.Replace(all, at)
}

// check compares an object with the earlier ones: its version never becomes older.
func (f *follower) check(o any) {
	pod := o.(*corev1.Pod)
	text, number := describe(pod)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	uid := string(pod.UID)
	if number < f.newest[uid] {
		f.wrong = append(f.wrong, fmt.Sprintf("pod %s has %s after version %d", pod.Name, text, f.newest[uid]))
	}
	f.newest[uid] = max(number, f.newest[uid])
}

// describe returns cluster and version of a pod, or what is wrong with them.
func describe(pod *corev1.Pod) (string, uint64) {
	v, err := version.Parse(pod.ResourceVersion)
	if err != nil || !v.Partial || len(v.Components) != 1 {
		return fmt.Sprintf("resourceVersion %s: %v", pod.ResourceVersion, err), 0
	}
	c := v.Components[0]
	if pod.Annotations[aggregatedcache.ClusterAnnotation] != c.Cluster || !strings.HasSuffix(pod.Name, c.Cluster) {
		return fmt.Sprintf("cluster %s and annotations %v", c.Cluster, pod.Annotations), 0
	}
	return fmt.Sprintf("%s:%d", c.Cluster, c.Version), c.Version
}

// content has cluster and version of each pod of the store by name.
func (f *follower) content() map[string]string {
	out := map[string]string{}
	for _, o := range f.List() {
		pod := o.(*corev1.Pod)
		out[pod.Name], _ = describe(pod)
	}
	return out
}

// union lists the pods of clusters directly.
func (c *clusters) union(ctx context.Context, names []string, selector string) (map[string]string, error) {
	out := map[string]string{}
	for _, name := range names {
		list, err := c.kube[name].CoreV1().Pods(modelNamespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", name, err)
		}
		for _, pod := range list.Items {
			out[pod.Name] = name + ":" + pod.ResourceVersion
		}
	}
	return out, nil
}

// equal waits until a follower has the union of the clusters, and fails the test if it ever went back.
func (f *follower) equal(t *testing.T, c *clusters, names []string, log func() string) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for {
		want, err := c.union(t.Context(), names, f.selector)
		got := f.content()
		if err == nil && maps.Equal(got, want) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v\n%s\nafter %s", f.name, err, difference(got, want), log())
		}
		time.Sleep(50 * time.Millisecond)
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.wrong) > 0 {
		t.Fatalf("%s: %s\nafter %s", f.name, strings.Join(f.wrong, "; "), log())
	}
}

func difference(got, want map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			out = append(out, fmt.Sprintf("%s: got %q, want %q", key, got[key], want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			out = append(out, fmt.Sprintf("%s: got %q, want none", key, got[key]))
		}
	}
	return strings.Join(out, "\n")
}
