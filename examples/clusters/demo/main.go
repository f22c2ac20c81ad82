// Command demo demonstrates the aggregator: it starts two clusters, joins them, and uses kubectl with the one endpoint
// of both: get, watch, logs and patch, while one of the clusters is cut off and comes back. It fails if the watch
// misses a change or loses a pod.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "folder with the programs")
	folder := flag.String("example", "examples/clusters", "folder with the manifests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *bin, *folder)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, folder string) (err error) {
	bin, err = filepath.Abs(bin)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "anymesh-demo")
	if err != nil {
		return err
	}
	d := &demo{bin: bin, folder: folder, temporary: temporary, start: time.Now()}
	defer func() {
		d.step("removing the clusters")
		d.stopProcesses()
		err = errors.Join(err, d.down(context.WithoutCancel(ctx)), os.RemoveAll(temporary))
		if err == nil {
			d.step("done")
		}
	}()
	for _, part := range []func(context.Context) error{d.up, d.aggregate, d.useOne, d.cutOff} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// useOne uses both clusters through the one endpoint.
func (d *demo) useOne(ctx context.Context) error {
	for cluster, pod := range map[string]string{"c1": "web", "c2": "shop"} {
		if err := d.createPod(ctx, cluster, pod); err != nil {
			return err
		}
	}
	if err := d.eventually(ctx, "two pods run", func() error {
		return d.sees(ctx, "web 1/1 Running", "shop 1/1 Running")
	}); err != nil {
		return err
	}
	d.step("one list of the pods of both clusters")
	if err := d.show(ctx, "get", "pods", "-o", "wide"); err != nil {
		return err
	}
	d.step("logs of a pod, without knowing its cluster")
	if err := d.show(ctx, "logs", "shop", "--tail", "1"); err != nil {
		return err
	}
	d.step("one watch; a pod is patched through the endpoint, and another one is created in c2")
	if err := d.watchPods(ctx); err != nil {
		return err
	}
	if err := d.show(ctx, "patch", "pod", "shop", "-p", `{"metadata":{"annotations":{"example.org/seen":"yes"}}}`); err != nil {
		return err
	}
	if err := d.createPod(ctx, "c2", "cart"); err != nil {
		return err
	}
	return d.eventually(ctx, "the watch shows the pod", func() error { return d.watched("cart 1/1 Running") })
}

// cutOff kills the API server of a cluster, and starts it again.
func (d *demo) cutOff(ctx context.Context) error {
	d.step("c2 is cut off: its pods stay in lists as they were, and those of c1 go on")
	if _, err := d.anymesh(ctx, "sandbox", "apiserver", "kill", "--name", name, "--cluster", "c2"); err != nil {
		return err
	}
	if err := d.eventually(ctx, "the Cluster c2 is not ready", func() error {
		_, err := d.kubectl(ctx, "wait", "cluster/c2", "--for=condition=Ready=False", "--timeout=1s")
		return err
	}); err != nil {
		return err
	}
	if err := d.showClusters(ctx); err != nil {
		return err
	}
	if err := d.createPod(ctx, "c1", "blog"); err != nil {
		return err
	}
	if err := d.eventually(ctx, "lists have the pods of both clusters", func() error {
		return d.sees(ctx, "web 1/1 Running", "shop 1/1 Running", "cart 1/1 Running", "blog 1/1 Running")
	}); err != nil {
		return err
	}
	if err := d.show(ctx, "get", "pods"); err != nil {
		return err
	}
	d.step("c2 comes back; a pod is deleted there")
	if _, err := d.anymesh(ctx, "sandbox", "apiserver", "start", "--name", name, "--cluster", "c2"); err != nil {
		return err
	}
	if err := d.eventually(ctx, "a delete through the endpoint", func() error {
		_, err := d.kubectl(ctx, "delete", "pod", "cart", "--grace-period=1", "--wait=false")
		return err
	}); err != nil {
		return err
	}
	if err := d.eventually(ctx, "the pod is gone from lists", func() error {
		out, err := d.pods(ctx)
		if _, there := out["cart"]; err == nil && there {
			err = fmt.Errorf("pods: %v", out)
		}
		return err
	}); err != nil {
		return err
	}
	if err := d.showClusters(ctx); err != nil {
		return err
	}
	return d.watched("blog 1/1 Running")
}
