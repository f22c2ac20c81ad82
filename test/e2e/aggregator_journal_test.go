package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// TestAggregatorReplicas moves a client between two replicas behind one address. The client resumes from its last
// bookmark, and gets each version of each object, without a 410.
func TestAggregatorReplicas(t *testing.T) {
	r := startReplicated(t)
	r.watched(t)
	namespace := "journal"
	for _, name := range memberNames {
		_, err := r.kube[name].CoreV1().Namespaces().Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, 20*time.Second, "a pod in "+name, func() error {
			pod := unscheduled("p-" + name)
			_, err := r.kube[name].CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
			return err // the service account may not be there yet
		})
	}
	j := &journal{kube: kubernetes.NewForConfigOrDie(r.config), namespace: namespace, seen: map[string]bool{}}
	started := make(chan struct{})
	go j.run(t.Context(), sync.OnceFunc(func() { close(started) }))
	<-started
	var written []string
	moves := 0
	for i := range 60 {
		name := memberNames[i%len(memberNames)]
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, i)
		pod, err := r.kube[name].CoreV1().Pods(namespace).Patch(t.Context(), "p-"+name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, name+":"+pod.ResourceVersion)
		if i%5 != 4 {
			continue
		}
		moves++
		eventually(t, 20*time.Second, "a watch after the move before", func() error { return j.opened(moves) })
		switch {
		case i < 30:
			r.balancer.move(r.replicas[moves%2].address)
		case i == 34:
			r.replicas[0].kill()
			r.balancer.move(r.replicas[1].address)
		default:
			r.balancer.reset()
		}
	}
	eventually(t, 20*time.Second, "each version", func() error { return j.has(written) })
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.expired > 0 {
		t.Errorf("%d watches, and %d times 410", j.watches, j.expired)
	}
	if err := r.replicas[0].start(); err != nil {
		t.Fatal(err)
	}
}

// watched waits until the replicas have the kinds of the registry.
func (r *replicated) watched(t *testing.T) {
	t.Helper()
	for _, one := range r.replicas {
		kube := kubernetes.NewForConfigOrDie(one.config)
		eventually(t, 20*time.Second, "all clusters in replica "+one.address, func() error {
			list, err := kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			if err == nil && len(list.Items) != len(memberNames) {
				err = fmt.Errorf("%d nodes", len(list.Items))
			}
			return err
		})
	}
}

// unscheduled returns a pod that no scheduler and no kubelet changes.
func unscheduled(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "none", Containers: []corev1.Container{{Name: "main", Image: "example.com/none"}},
		},
	}
}

// journal is a client that remembers all versions that it gets.
type journal struct {
	kube      *kubernetes.Clientset
	namespace string

	mutex            sync.Mutex
	seen             map[string]bool
	watches, expired int
}

// run lists, and watches from the version of the list and of each bookmark. It calls started after the list.
func (j *journal) run(ctx context.Context, started func()) {
	at := ""
	for ctx.Err() == nil {
		if at == "" {
			list, err := j.kube.CoreV1().Pods(j.namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				time.Sleep(20 * time.Millisecond)
				continue
			}
			at = list.ResourceVersion
			started()
		}
		w, err := j.kube.CoreV1().Pods(j.namespace).Watch(ctx, metav1.ListOptions{
			ResourceVersion: at, AllowWatchBookmarks: true,
		})
		if err == nil {
			at, err = j.read(w, at)
		}
		if apierrors.IsResourceExpired(err) {
			at = ""
			j.mutex.Lock()
			j.expired++
			j.mutex.Unlock()
		}
		if err != nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// read reads a watch to its end, and returns the version to resume from.
func (j *journal) read(w watch.Interface, at string) (string, error) {
	defer w.Stop()
	j.mutex.Lock()
	j.watches++
	j.mutex.Unlock()
	for e := range w.ResultChan() {
		switch o := e.Object.(type) {
		case *corev1.Pod:
			if e.Type == watch.Bookmark {
				at = o.ResourceVersion
				continue
			}
			text, _ := describe(o)
			j.mutex.Lock()
			j.seen[text] = true
			j.mutex.Unlock()
		default:
			return at, apierrors.FromObject(e.Object)
		}
	}
	return at, nil
}

// opened checks that a number of watches were open.
func (j *journal) opened(n int) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.watches < n {
		return fmt.Errorf("%d watches, want %d", j.watches, n)
	}
	return nil
}

func (j *journal) has(versions []string) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	var missing []string
	for _, v := range versions {
		if !j.seen[v] {
			missing = append(missing, v)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s are missing; %d watches, %d times 410", strings.Join(missing, ", "), j.watches, j.expired)
	}
	return nil
}
