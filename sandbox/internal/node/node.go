// Package node runs the parts of the node of a cluster: the kubelet with the container runtime of the sandbox,
// kube-proxy and CoreDNS.
//
// In: the plan of the lab, the cluster, its keys on disk, and image maps. Out: a node that runs Pods until the
// context ends and then stops their containers. The process must already be in the network namespace of the node.
// Each runs in a process of its own: kube-proxy exits its process on errors, and tests kill CoreDNS.
package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
	"anymesh.dev/anymesh/sandbox/internal/plan"
	"anymesh.dev/anymesh/sandbox/internal/runtime"
)

// Run blocks until ctx ends.
func Run(ctx context.Context, lab plan.Lab, c plan.Cluster) error {
	images, err := imagemap.Load(lab.Images...)
	if err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(lab.PKIDir(c), "kubelet.kubeconfig"))
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = -1, -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	rt, err := runtime.New(runtime.Config{
		Cluster: c, Dir: filepath.Join(lab.ClusterDir(c), "runtime"), Hidden: []string{lab.Dir}, UserNS: lab.UserNS,
		Images:   images,
		ImageDir: lab.ImageDir(),
	})
	if err != nil {
		return err
	}
	imageService := runtime.Images{Map: images, Pod: func(ctx context.Context, namespace,
		name string) (*corev1.Pod, error) {
		return client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	}}
	if err := startKubelet(ctx, lab, c, client, rt, imageService); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}
	<-ctx.Done()
	rt.StopAll()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
