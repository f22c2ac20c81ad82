package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	l7mpapi "anymesh.dev/anymesh/api/l7mp/v1"
	"anymesh.dev/anymesh/internal/dialect/osm"
)

// Names of the objects of the benchmark.
const (
	system    = "anymesh-system"
	namespace = "bench"
	meshName  = "bench"
	port      = 8080
)

// serverName is the DNS name in the certificate of the control plane.
const serverName = "anymesh." + system + ".svc.cluster.local"

// writers is the number of concurrent writes.
const writers = 16

// cluster is a Kubernetes API server without nodes: the benchmark writes the status of the pods.
type cluster struct {
	bin        string
	name       string // of the sandbox
	kubeconfig string
	discovery  string // listen address for xDS
	config     *rest.Config
	client     client.Client
}

func startCluster(ctx context.Context, bin string) (*cluster, error) {
	c := &cluster{bin: bin, name: fmt.Sprintf("bench-%d", os.Getpid())}
	if err := freeAddresses(&c.discovery); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "anymesh-bench-")
	if err != nil {
		return nil, err
	}
	up := exec.CommandContext(ctx, filepath.Join(bin, "anymesh-sandbox"), "up", "--name", c.name, "--dir", dir)
	up.Stderr = os.Stderr
	if err := up.Run(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	c.kubeconfig = filepath.Join(dir, "c1.kubeconfig")
	if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
		return nil, err
	}
	c.config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, api.AddToScheme, apiextensionsv1.AddToScheme, osm.Dialect{}.AddToScheme,
		l7mpapi.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c.client, err = client.New(c.config, client.Options{Scheme: scheme})
	return c, err
}

func (c *cluster) stop() {
	dir := filepath.Dir(c.kubeconfig)
	down := exec.Command(filepath.Join(c.bin, "anymesh-sandbox"), "down", "--name", c.name, "--dir", dir)
	down.Stderr = os.Stderr
	if err := down.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stopping the sandbox:", err)
	}
	_ = os.RemoveAll(dir) // a temporary folder
}

// createObjects creates the namespaces and a pod for each client.
func (c *cluster) createObjects(ctx context.Context, s size) error {
	for _, name := range []string{system, namespace} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"mesh": name}}}
		if err := c.client.Create(ctx, ns); err != nil {
			return err
		}
	}
	account := client.ObjectKey{Namespace: namespace, Name: "default"}
	if err := eventually(ctx, "service account does not exist", func() error {
		return c.client.Get(ctx, account, &corev1.ServiceAccount{})
	}); err != nil {
		return err
	}
	newPod := pod
	if s.l7mp {
		newPod = withProxy
	}
	if s.members {
		newPod = member
		if err := each(ctx, s.workloads, func(ctx context.Context, i int) error {
			return c.create(ctx, &corev1.ServiceAccount{ObjectMeta: meta(workloadName(i))})
		}); err != nil {
			return err
		}
	}
	return each(ctx, s.clients, func(ctx context.Context, i int) error {
		return c.create(ctx, newPod(clientPod(i), workloadName(i%s.workloads)))
	})
}

// each calls f for 0 to n-1 with limited concurrency.
func each(ctx context.Context, n int, f func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

func (c *cluster) create(ctx context.Context, o client.Object) error {
	if err := c.client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%T %s: %w", o, o.GetName(), err)
	}
	return nil
}
