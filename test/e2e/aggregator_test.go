package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// registryManifest registers the kinds of the tests in all member clusters.
const registryManifest = `
apiVersion: search.karmada.io/v1alpha1
kind: ResourceRegistry
metadata: {name: all}
spec:
  targetCluster: {}
  resourceSelectors:
  - {apiVersion: v1, kind: Pod}
  - {apiVersion: v1, kind: Node}
`

// memberPod returns a pod that prints lines.
func memberPod(name string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, labels: {app: lines}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: example.com/sh, command: [/bin/sh, -c, "while echo line from %s; do sleep 1; done"]}
`, name, name)
}

// aggregated is an aggregator over two member clusters.
type aggregated struct {
	t          *testing.T
	kubeconfig string
	members    map[string]string
}

// startAggregated starts two clusters, joins them, and starts an aggregator whose control plane is the first.
func startAggregated(t *testing.T) *aggregated {
	t.Helper()
	name := lab.name + "-fleet"
	if _, err := anymesh(t.Context(), "sandbox", "up", "--name", name, "--clusters", "2"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := anymesh(context.Background(), "sandbox", "down", "--name", name); err != nil {
			t.Error(err)
		}
	})
	a := &aggregated{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), members: map[string]string{}}
	for _, c := range []string{"c1", "c2"} {
		text, err := anymesh(t.Context(), "sandbox", "kubectl", "--name", name, "--cluster", c, "--", "config", "view", "--raw")
		if err != nil {
			t.Fatal(err)
		}
		a.members[c] = filepath.Join(t.TempDir(), c)
		if err := os.WriteFile(a.members[c], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := anymesh(t.Context(), "cluster", "join", c, "--kubeconfig", a.members["c1"], "--member-kubeconfig",
			a.members[c]); err != nil {
			t.Fatal(err)
		}
	}
	server := exec.Command(filepath.Join(lab.bin, "anymesh"), "aggregator", "--kubeconfig", a.members["c1"],
		"--address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0", "--probe-interval", "1s",
		"--write-kubeconfig", a.kubeconfig)
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil || t.Failed() {
			t.Logf("aggregator: %v\n%s", err, log.String())
		}
	})
	eventually(t, 20*time.Second, "aggregator", func() error {
		_, err := os.Stat(a.kubeconfig)
		return err
	})
	eventually(t, 20*time.Second, "registry", func() error {
		_, err := a.kubectl(registryManifest, "apply", "-f", "-")
		return err
	})
	for _, c := range []string{"c1", "c2"} {
		if _, err := a.in(c, memberPod("lines-"+c)+"---"+memberPod("same"), "apply", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 40*time.Second, "four pods that run", func() error {
		out, err := a.kubectl("", "get", "pods", "--no-headers")
		if err == nil && strings.Count(out, "Running") != 4 {
			err = fmt.Errorf("pods:\n%s", out)
		}
		return err
	})
	return a
}

// kubectl runs kubectl against the aggregator, in against a member cluster.
func (a *aggregated) kubectl(input string, args ...string) (string, error) {
	return a.with(a.kubeconfig, input, args...)
}

func (a *aggregated) in(cluster, input string, args ...string) (string, error) {
	return a.with(a.members[cluster], input, args...)
}

func (a *aggregated) with(kubeconfig, input string, args ...string) (string, error) {
	return kubectlInput(a.t.Context(), input, append([]string{"--kubeconfig", kubeconfig, "-n", "default"}, args...)...)
}

// wants runs kubectl and checks its output.
func (a *aggregated) wants(texts []string, args ...string) {
	a.t.Helper()
	out, err := a.kubectl("", args...)
	for _, text := range texts {
		if err != nil || !strings.Contains(out, text) {
			a.t.Errorf("kubectl %s: want %q in\n%s%v", strings.Join(args, " "), text, out, err)
		}
	}
}

func (a *aggregated) refused(text string, args ...string) {
	a.t.Helper()
	if out, err := a.kubectl("", args...); err == nil || !strings.Contains(err.Error(), text) {
		a.t.Errorf("kubectl %s: want the error %q, got\n%s%v", strings.Join(args, " "), text, out, err)
	}
}

// TestAggregator runs unmodified clients against two member clusters as one.
func TestAggregator(t *testing.T) {
	a := startAggregated(t)
	t.Run("kubectl reads", func(t *testing.T) {
		a.t = t
		a.wants([]string{"CLUSTER", "lines-c1", "lines-c2"}, "get", "pods", "-o", "wide", "--chunk-size", "1")
		a.wants([]string{"c1-node", "c2-node"}, "get", "nodes")
		a.wants([]string{"pod/lines-c1\npod/lines-c2\n"}, "get", "pods", "-l", "app=lines", "-o", "name", "--field-selector", "metadata.name!=same")
		a.wants([]string{"pod/lines-c2\npod/same\n"}, "get", "pods", "--field-selector", "spec.nodeName=c2-node", "-o", "name")
		a.wants([]string{"resource.karmada.io/cached-from-cluster: c2"}, "describe", "pod", "lines-c2")
		a.wants([]string{"kube-root-ca.crt"}, "get", "configmaps")
	})
	t.Run("kubectl writes", func(t *testing.T) {
		a.t = t
		a.wants([]string{"labeled"}, "label", "pod", "lines-c2", "seen=yes")
		a.wants([]string{"lines-c2"}, "get", "pods", "-l", "seen=yes")
		out, err := a.in("c2", "", "get", "pod", "lines-c2", "-o", "yaml")
		if err != nil || !strings.Contains(out, "seen:") || strings.Contains(out, "cached-from-cluster") {
			t.Errorf("the pod in its cluster: %s%v", out, err)
		}
		a.refused("the object exists in the clusters c1, c2", "delete", "pod", "same")
		a.refused("create", "run", "new", "--image", "example.com/sh")
		if out, err := a.kubectl(memberPod("nowhere"), "apply", "--server-side", "-f", "-"); err == nil {
			t.Errorf("server-side apply creates: %s", out)
		}
	})
	t.Run("logs of any pod", a.logs)
	t.Run("service discovery", a.discovery)
	t.Run("pods go away", a.removal)
}

// removal evicts a pod, deletes a collection in both clusters, and removes a cluster.
func (a *aggregated) removal(t *testing.T) {
	a.t = t
	const path = "/api/v1/namespaces/default/pods"
	eviction := `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"lines-c2","namespace":"default"},` +
		`"deleteOptions":{"gracePeriodSeconds":0}}`
	if out, err := a.kubectl(eviction, "create", "--raw", path+"/lines-c2/eviction", "-f", "-"); err != nil {
		t.Errorf("eviction: %s%v", out, err)
	}
	a.refused("Impersonate-User is not supported", "get", "pods", "--as", "bob")
	a.wants([]string{"cluster/c1", "cluster/c2"}, "delete", "--raw", path+"?labelSelector=app%3Dlines")
	for _, c := range []string{"c1", "c2"} {
		eventually(t, 30*time.Second, "no pods in "+c, func() error {
			out, err := a.in(c, "", "get", "pods", "-l", "app=lines", "-o", "name")
			if err == nil && out != "" {
				err = errors.New(out)
			}
			return err
		})
	}
	a.wants([]string{"c1-node", "c2-node"}, "get", "nodes")
	if _, err := anymesh(t.Context(), "cluster", "leave", "c2", "--kubeconfig", a.members["c1"], "--member-kubeconfig",
		a.members["c2"]); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the nodes of c1 only", func() error {
		out, err := a.kubectl("", "get", "nodes", "-o", "name")
		if err == nil && out != "node/c1-node\n" {
			err = errors.New(out)
		}
		return err
	})
}

// logs is the second user story: find a pod, and read its logs.
func (a *aggregated) logs(t *testing.T) {
	a.t = t
	for _, c := range []string{"c1", "c2"} {
		a.wants([]string{"line from lines-" + c}, "logs", "lines-"+c)
		a.wants([]string{"ran in lines-" + c}, "exec", "lines-"+c, "--", "/bin/sh", "-c", "echo ran in $(hostname)")
	}
	config, err := clientcmd.BuildConfigFromFlags("", a.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("default").
		GetLogs("lines-c2", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	lines := bufio.NewScanner(stream)
	for range 3 {
		if !lines.Scan() {
			t.Fatalf("the log ends: %v", lines.Err())
		}
	}
}

// discovery is the first user story: a controller lists and watches pods, and marks those that it processed.
func (a *aggregated) discovery(t *testing.T) {
	a.t = t
	config, err := clientcmd.BuildConfigFromFlags("", a.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	kube := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "app=lines" }))
	pods := factory.Core().V1().Pods()
	mark := func(o any) {
		pod := o.(*corev1.Pod)
		if pod.Annotations["processed"] != "" || pod.Name == "same" {
			return
		}
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"processed":%q}}}`, pod.ResourceVersion, pod.Status.PodIP)
		// A conflict means that an event with a newer pod follows.
		_, _ = kube.CoreV1().Pods("default").Patch(t.Context(), pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: mark, UpdateFunc: func(_, o any) { mark(o) },
	}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	if !cache.WaitForCacheSync(t.Context().Done(), pods.Informer().HasSynced) {
		t.Fatal("the informer does not sync")
	}
	if _, err := a.in("c2", memberPod("late"), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "every pod is processed", func() error {
		for _, name := range []string{"lines-c1", "lines-c2", "late"} {
			pod, err := pods.Lister().Pods("default").Get(name)
			if err != nil {
				return err
			}
			if pod.Annotations["processed"] == "" {
				return fmt.Errorf("pod %s is not processed", name)
			}
		}
		return nil
	})
	a.wants([]string{"deleted"}, "delete", "pod", "late")
	eventually(t, 10*time.Second, "the informer forgets the pod", func() error {
		if _, err := pods.Lister().Pods("default").Get("late"); err == nil {
			return fmt.Errorf("pod late is there")
		}
		return nil
	})
}
