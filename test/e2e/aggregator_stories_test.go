package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// TestAggregatorServiceDiscovery is the first user story: a controller lists and watches the pods of all clusters,
// updates its routing table when an address changes, and marks the pods that it processed with an annotation. A pod
// that replaces another one is processed again.
func TestAggregatorServiceDiscovery(t *testing.T) {
	a := startAggregated(t)
	for _, c := range memberNames {
		a.create(c, linesPod("app-"+c))
	}
	kube, _ := a.client()
	d := &discoverer{kube: kube, routes: map[string]int{}}
	d.run(t)
	eventually(t, 40*time.Second, "a route to each pod", func() error { return d.has("app-c1", "app-c2", "app-c3") })
	before := d.processed()
	a.wants(t, []string{"annotated"}, "annotate", "pod", "app-c1", "other=change")
	for _, args := range [][]string{{"delete", "pod", "app-c3"}, {"create", "-f", "-"}} {
		if _, err := a.in("c3", linesPod("app-c3"), args...); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 40*time.Second, "the new pod is processed", func() error {
		if n := d.processed(); n != before+1 {
			return fmt.Errorf("%d pods were processed, want %d", n, before+1)
		}
		return d.has("app-c1", "app-c2", "app-c3")
	})
	for _, c := range memberNames {
		out, err := a.in(c, "", "get", "pod", "app-"+c, "-o", "jsonpath={.metadata.annotations.processed} {.status.podIP}")
		if address, ip, _ := strings.Cut(out, " "); err != nil || address == "" || address != ip {
			t.Errorf("pod app-%s has the mark and address %s; %v", c, out, err)
		}
	}
}

// discoverer is the controller of the story.
type discoverer struct {
	kube *kubernetes.Clientset

	mutex sync.Mutex
	// routes counts how often each pod, by name and uid, was processed.
	routes map[string]int
	// lister reads the store of the informer.
	lister func(name string) (*corev1.Pod, error)
}

func (d *discoverer) run(t *testing.T) {
	factory := informers.NewSharedInformerFactoryWithOptions(d.kube, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app=lines" }))
	pods := factory.Core().V1().Pods()
	d.lister = pods.Lister().Pods("default").Get
	process := func(o any) { d.process(t.Context(), o.(*corev1.Pod)) }
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: process, UpdateFunc: func(_, o any) { process(o) },
	}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), pods.Informer().HasSynced) {
		t.Fatal("the informer does not sync")
	}
}

func (d *discoverer) process(ctx context.Context, pod *corev1.Pod) {
	if pod.Status.PodIP == "" || pod.DeletionTimestamp != nil || pod.Annotations["processed"] == pod.Status.PodIP {
		return
	}
	patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"processed":%q}}}`, pod.ResourceVersion,
		pod.Status.PodIP)
	_, err := d.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		return // A conflict means that an event with a newer pod follows.
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.routes[pod.Name+"/"+string(pod.UID)]++
}

// has checks that the named pods are marked, each processed once.
func (d *discoverer) has(names ...string) error {
	for _, name := range names {
		pod, err := d.lister(name)
		if err != nil {
			return err
		}
		if pod.Annotations["processed"] == "" || pod.Annotations["processed"] != pod.Status.PodIP {
			return fmt.Errorf("pod %s is not processed", name)
		}
		d.mutex.Lock()
		n := d.routes[name+"/"+string(pod.UID)]
		d.mutex.Unlock()
		if n != 1 {
			return fmt.Errorf("pod %s was processed %d times", name, n)
		}
	}
	return nil
}

func (d *discoverer) processed() int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return len(d.routes)
}

// TestAggregatorLogsOfAnyPod is the second user story: a user interface lists all pods, finds one, and shows its log.
func TestAggregatorLogsOfAnyPod(t *testing.T) {
	a := startAggregated(t)
	for _, c := range memberNames {
		a.create(c, linesPod("app-"+c))
	}
	kube, _ := a.client()
	pods := kube.CoreV1().Pods("default")
	eventually(t, 40*time.Second, "a running pod in each cluster", func() error {
		list, err := pods.List(t.Context(), metav1.ListOptions{
			LabelSelector: "app=lines", FieldSelector: "status.phase=Running",
		})
		if err == nil && len(list.Items) != len(memberNames) {
			err = fmt.Errorf("%d pods", len(list.Items))
		}
		return err
	})
	list, err := kube.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{LabelSelector: "app=lines"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		tail := int64(1)
		stream, err := kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
			Follow: true, TailLines: &tail,
		}).Stream(t.Context())
		if err != nil {
			t.Errorf("pod %s: %v", pod.Name, err)
			continue
		}
		lines := bufio.NewScanner(stream)
		for range 3 {
			if !lines.Scan() || lines.Text() != "line from "+pod.Name {
				t.Errorf("the log of pod %s has %q, %v", pod.Name, lines.Text(), lines.Err())
				break
			}
		}
		_ = stream.Close()
	}
	gone, err := pods.GetLogs("gone", &corev1.PodLogOptions{}).Stream(t.Context())
	if !apierrors.IsNotFound(err) {
		text, _ := io.ReadAll(gone)
		t.Errorf("the log of a pod that does not exist: %s, %v", text, err)
	}
}
