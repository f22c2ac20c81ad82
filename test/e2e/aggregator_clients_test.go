package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// noStreaming makes an informer list, as those without the feature WatchListClient do.
type noStreaming struct{ *cache.ListWatch }

func (noStreaming) IsWatchListSemanticsUnSupported() bool { return true }

// podSource lists and watches the pods of a namespace.
func podSource(kube *kubernetes.Clientset, namespace, selector string, streaming bool) cache.ListerWatcher {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return kube.CoreV1().Pods(namespace).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return kube.CoreV1().Pods(namespace).Watch(ctx, o)
		},
	}
	if streaming {
		return source
	}
	return noStreaming{source}
}

// requests records which lists and watches a client sends.
type requests struct {
	http.RoundTripper
	mutex                    sync.Mutex
	lists, streamed, watches int
}

func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	r.mutex.Lock()
	switch {
	case query.Get("watch") == "":
		r.lists++
	case query.Get("sendInitialEvents") == "true":
		r.streamed++
	default:
		r.watches++
	}
	r.mutex.Unlock()
	return r.RoundTripper.RoundTrip(request)
}

// TestAggregatorInformers runs informers that stream the initial events, and informers that list.
func TestAggregatorInformers(t *testing.T) {
	a := startAggregated(t)
	a.create("c2", linesPod("first"))
	_, config := a.client()
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchList=%v", streaming), func(t *testing.T) {
			seen := &requests{}
			recorded := rest.CopyConfig(config)
			recorded.Wrap(func(rt http.RoundTripper) http.RoundTripper { seen.RoundTripper = rt; return seen })
			informer := cache.NewSharedIndexInformer(podSource(kubernetes.NewForConfigOrDie(recorded), "default", "app=lines",
				streaming), &corev1.Pod{}, 0, cache.Indexers{})
			go informer.RunWithContext(t.Context())
			if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
				t.Fatal("the informer does not sync")
			}
			has := func(name string, want bool) {
				t.Helper()
				eventually(t, 20*time.Second, "pod "+name, func() error {
					_, ok, err := informer.GetStore().GetByKey("default/" + name)
					if err == nil && ok != want {
						err = fmt.Errorf("in the store: %v, want %v", ok, want)
					}
					return err
				})
			}
			has("first", true)
			for _, c := range memberNames {
				name := "late-" + c
				a.create(c, runningPod(name, "/bin/sleep", "3600"))
				has(name, true)
				if _, err := a.in(c, "", "delete", "pod", name, "--wait=false"); err != nil {
					t.Fatal(err)
				}
				has(name, false)
			}
			seen.mutex.Lock()
			defer seen.mutex.Unlock()
			if (seen.streamed > 0) != streaming || (seen.lists > 0) == streaming {
				t.Errorf("%d lists, %d watches with initial events, %d other watches", seen.lists, seen.streamed, seen.watches)
			}
		})
	}
}

// TestAggregatorController runs a controller of controller-runtime whose API server is the aggregator. Its leader
// election has a Lease in the control plane.
func TestAggregatorController(t *testing.T) {
	a := startAggregated(t)
	a.create("c2", webDeployment)
	a.create("c3", linesPod("condemned"))
	_, config := a.client()
	ctrl.SetLogger(testr.New(t))
	manager, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionNamespace: "default", LeaderElectionID: "aggregator-test",
		LeaderElectionReleaseOnCancel: true, Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &controller{Client: manager.GetClient()}
	if err := ctrl.NewControllerManagedBy(manager).For(&appsv1.Deployment{}).Complete(c); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- manager.Start(ctx) }()
	eventually(t, 30*time.Second, "the status of the deployment in its cluster", func() error {
		out, err := a.in("c2", "", "get", "deployment", "web", "-o", `jsonpath={.status.conditions[?(@.type=="Seen")].reason}`)
		if err == nil && out != "Updated" {
			err = fmt.Errorf("condition %q", out)
		}
		return err
	})
	lease, err := a.kube["c1"].CoordinationV1().Leases("default").Get(t.Context(), "aggregator-test", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Errorf("the Lease in the control plane: %+v, %v", lease, err)
	}
	c.deletes(t)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// controller adds a condition to the status of Deployments.
type controller struct{ runtimeclient.Client }

func (c *controller) Reconcile(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var d appsv1.Deployment
	if err := c.Get(ctx, r.NamespacedName, &d); err != nil {
		return ctrl.Result{}, runtimeclient.IgnoreNotFound(err)
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == "Seen" {
			return ctrl.Result{}, nil
		}
	}
	d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
		Type: "Seen", Status: corev1.ConditionTrue, Reason: "Updated",
	})
	return ctrl.Result{}, c.Status().Update(ctx, &d)
}

// deletes deletes a pod with preconditions.
func (c *controller) deletes(t *testing.T) {
	pod := &corev1.Pod{}
	key := runtimeclient.ObjectKey{Namespace: "default", Name: "condemned"}
	eventually(t, 20*time.Second, "the pod", func() error { return c.Get(t.Context(), key, pod) })
	wrong, right := types.UID("00000000-0000-0000-0000-000000000000"), pod.UID
	if err := c.Delete(t.Context(), pod, runtimeclient.Preconditions{UID: &wrong}); !apierrors.IsConflict(err) {
		t.Errorf("delete with another uid: %v", err)
	}
	if err := c.Status().Patch(t.Context(), pod, runtimeclient.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"message":"patched"}}`))); err != nil || pod.Status.Message != "patched" {
		t.Errorf("patch of the status: %q, %v", pod.Status.Message, err)
	}
	// The kubelet also changes the pod, so that the version is that of the delete's time or a conflict.
	eventually(t, 20*time.Second, "delete with the uid and version", func() error {
		if err := c.Get(t.Context(), key, pod); err != nil {
			return err
		}
		return c.Delete(t.Context(), pod, runtimeclient.Preconditions{UID: &right, ResourceVersion: &pod.ResourceVersion})
	})
	eventually(t, 20*time.Second, "the pod is gone", func() error {
		err := c.Get(t.Context(), key, pod)
		if err == nil {
			return fmt.Errorf("pod %s exists", pod.Name)
		}
		return runtimeclient.IgnoreNotFound(err)
	})
}
