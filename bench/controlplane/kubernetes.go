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
	"anymesh.dev/anymesh/api/crds"
)

// The names of what the benchmark makes.
const (
	system    = "anymesh-system"
	namespace = "bench"
	meshName  = "bench"
	port      = 8080
)

// writers is how many objects are written at a time.
const writers = 16

// cluster is a Kubernetes API server. Its pods run nowhere: what counts is what the API says of them.
type cluster struct {
	bin        string
	name       string // of the sandbox
	kubeconfig string
	discovery  string // where the control plane is to serve discovery
	config     *rest.Config
	client     client.Client
}

func startCluster(ctx context.Context, bin string) (*cluster, error) {
	c := &cluster{bin: bin, name: fmt.Sprintf("bench-%d", os.Getpid())}
	var err error
	if c.discovery, err = freeAddress(); err != nil {
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
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme, apiextensionsv1.AddToScheme} {
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
		fmt.Fprintln(os.Stderr, "bench: the sandbox is not stopped:", err)
	}
	_ = os.RemoveAll(dir) // a folder for temporary files
}

// define installs the kinds and waits until they are served.
func (c *cluster) define(ctx context.Context) error {
	all, err := crds.All()
	if err != nil {
		return err
	}
	for _, crd := range all {
		crd.Spec.Conversion = nil
		if err := c.client.Create(ctx, crd); err != nil {
			return err
		}
	}
	return eventually(ctx, "kinds are not served", func() error {
		return c.client.List(ctx, &api.VirtualNodeList{})
	})
}

// fill makes the mesh, its services with two ready pods each, and the workloads of the clients with a pod each client.
func (c *cluster) fill(ctx context.Context, s size) error {
	for _, name := range []string{system, namespace} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"mesh": name}}}
		if err := c.client.Create(ctx, ns); err != nil {
			return err
		}
	}
	mesh := &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: meshName}, Spec: api.MeshSpec{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"mesh": namespace}},
	}}
	if err := c.client.Create(ctx, mesh); err != nil {
		return err
	}
	account := client.ObjectKey{Namespace: namespace, Name: "default"}
	if err := eventually(ctx, "there is no service account", func() error { return c.client.Get(ctx, account, &corev1.ServiceAccount{}) }); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range s.services {
		group.Go(func() error { return c.service(ctx, i) })
	}
	for i := range s.workloads {
		group.Go(func() error { return c.create(ctx, workload(i, s.services)) })
	}
	for i := range s.clients {
		group.Go(func() error { return c.create(ctx, pod(clientPod(i), workloadName(i%s.workloads))) })
	}
	return group.Wait()
}

func (c *cluster) create(ctx context.Context, o client.Object) error {
	if err := c.client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%T %s: %w", o, o.GetName(), err)
	}
	return nil
}

func (c *cluster) service(ctx context.Context, i int) error {
	name := serviceName(i)
	objects := []client.Object{node(name), &api.VirtualService{ObjectMeta: meta(name), Spec: api.VirtualServiceSpec{
		Provider: &api.VirtualServiceProvider{VirtualNode: &api.VirtualNodeServiceProvider{VirtualNodeRef: &api.VirtualNodeReference{Name: name}}},
	}}}
	for j := range 2 {
		objects = append(objects, pod(endpointPod(i, j), name))
	}
	for _, o := range objects {
		if err := c.create(ctx, o); err != nil {
			return err
		}
	}
	for j := range 2 {
		if err := c.setReady(ctx, i, j, true); err != nil {
			return err
		}
	}
	return nil
}
