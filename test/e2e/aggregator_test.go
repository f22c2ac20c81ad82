package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// memberNames are the member clusters of the tests. The first is the control plane, too.
var memberNames = []string{"c1", "c2", "c3"}

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
  - {apiVersion: v1, kind: Event}
  - {apiVersion: apps/v1, kind: Deployment}
  - {apiVersion: apps/v1, kind: ReplicaSet}
`

// clusters are three member clusters that the tests of the aggregator share. Each is joined through a relay, which the
// tests cut.
type clusters struct {
	name   string
	files  map[string]string
	kube   map[string]*kubernetes.Clientset
	config map[string]*rest.Config
	relays map[string]*relay
}

// sharedClusters starts the clusters when the first test needs them. stopClusters stops them.
var sharedClusters = sync.OnceValues(startClusters)

var stopClusters = func() error { return nil }

func startClusters() (*clusters, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := &clusters{
		name: lab.name + "-fleet", files: map[string]string{}, kube: map[string]*kubernetes.Clientset{},
		config: map[string]*rest.Config{}, relays: map[string]*relay{},
	}
	dir, err := os.MkdirTemp("", "aggregator")
	if err != nil {
		return nil, err
	}
	stopClusters = func() error {
		_, err := anymesh(context.Background(), "sandbox", "down", "--name", c.name)
		return errors.Join(err, os.RemoveAll(dir))
	}
	if _, err := anymesh(ctx, "sandbox", "up", "--name", c.name, "--clusters", fmt.Sprint(len(memberNames))); err != nil {
		return nil, err
	}
	for _, name := range memberNames {
		if err := c.join(ctx, dir, name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// join connects to a cluster, and makes it a member with the address of its relay.
func (c *clusters) join(ctx context.Context, dir, name string) error {
	text, err := anymesh(ctx, "sandbox", "kubectl", "--name", c.name, "--cluster", name, "--", "config", "view", "--raw")
	if err != nil {
		return err
	}
	access, err := clientcmd.Load([]byte(text))
	if err != nil {
		return err
	}
	c.files[name] = filepath.Join(dir, name)
	if err := clientcmd.WriteToFile(*access, c.files[name]); err != nil {
		return err
	}
	if c.config[name], err = clientcmd.BuildConfigFromFlags("", c.files[name]); err != nil {
		return err
	}
	c.config[name].QPS = -1 // no limit
	if c.kube[name], err = kubernetes.NewForConfig(c.config[name]); err != nil {
		return err
	}
	if c.relays[name], err = newRelay(strings.TrimPrefix(c.config[name].Host, "https://")); err != nil {
		return err
	}
	for _, cluster := range access.Clusters {
		cluster.Server = "https://" + c.relays[name].address()
	}
	relayed := filepath.Join(dir, name+"-relayed")
	if err := clientcmd.WriteToFile(*access, relayed); err != nil {
		return err
	}
	_, err = anymesh(ctx, "cluster", "join", name, "--kubeconfig", c.files[memberNames[0]], "--member-kubeconfig", relayed)
	return err
}

// aggregated is an aggregator over the member clusters.
type aggregated struct {
	*clusters
	t          *testing.T
	kubeconfig string
}

// startAggregated starts an aggregator with flags over the shared clusters, with the registry of the tests.
func startAggregated(t *testing.T, flags ...string) *aggregated {
	t.Helper()
	c, err := sharedClusters()
	if err != nil {
		t.Fatal(err)
	}
	a := &aggregated{clusters: c, t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	newReplica(c, "127.0.0.1:0", append(flags, "--write-kubeconfig", a.kubeconfig)...).startFor(t)
	eventually(t, 20*time.Second, "aggregator", func() error {
		_, err := os.Stat(a.kubeconfig)
		return err
	})
	a.register(registryManifest)
	return a
}

// register applies a registry and waits until its kinds are cached.
func (a *aggregated) register(manifest string) {
	a.t.Helper()
	eventually(a.t, 20*time.Second, "registry", func() error {
		_, err := a.kubectl(manifest, "apply", "-f", "-")
		return err
	})
	if _, err := a.kubectl("", "wait", "resourceregistry", "--all", "--for=condition=Ready", "--timeout=180s"); err != nil {
		a.t.Fatal(err)
	}
}

// client returns a client of the aggregator.
func (a *aggregated) client() (*kubernetes.Clientset, *rest.Config) {
	a.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", a.kubeconfig)
	if err != nil {
		a.t.Fatal(err)
	}
	config.QPS = -1
	return kubernetes.NewForConfigOrDie(config), config
}

// kubectl runs kubectl against the aggregator, in against a member cluster.
func (a *aggregated) kubectl(input string, args ...string) (string, error) {
	return a.with(a.kubeconfig, input, args...)
}

func (a *aggregated) in(cluster, input string, args ...string) (string, error) {
	return a.with(a.files[cluster], input, args...)
}

func (a *aggregated) with(kubeconfig, input string, args ...string) (string, error) {
	return kubectlInput(a.t.Context(), input, append([]string{"--kubeconfig", kubeconfig, "-n", "default"}, args...)...)
}

// create applies manifests in a member cluster, and deletes them when the test ends.
func (a *aggregated) create(cluster, manifests string) {
	a.t.Helper()
	a.t.Cleanup(func() {
		if _, err := kubectlInput(context.Background(), manifests, "--kubeconfig", a.files[cluster], "delete",
			"--ignore-not-found", "--wait=false", "-f", "-"); err != nil {
			a.t.Error(err)
		}
	})
	if _, err := a.in(cluster, manifests, "apply", "-f", "-"); err != nil {
		a.t.Fatal(err)
	}
}

// wants runs kubectl and checks its output.
func (a *aggregated) wants(t *testing.T, texts []string, args ...string) {
	t.Helper()
	a.wantsWith(t, "", texts, args...)
}

func (a *aggregated) wantsWith(t *testing.T, input string, texts []string, args ...string) {
	t.Helper()
	out, err := a.kubectl(input, args...)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
		return
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("kubectl %s: want %q in\n%s", strings.Join(args, " "), text, out)
		}
	}
}

// refused runs kubectl, which must fail with a text.
func (a *aggregated) refused(t *testing.T, text string, args ...string) {
	t.Helper()
	a.refusedWith(t, "", text, args...)
}

func (a *aggregated) refusedWith(t *testing.T, input, text string, args ...string) {
	t.Helper()
	if out, err := a.kubectl(input, args...); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("kubectl %s: want the error %q, got\n%s%v", strings.Join(args, " "), text, out, err)
	}
}
