package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// labUnderTest runs one sandbox through its command line.
type labUnderTest struct {
	dir      string
	prefix   []string // a command that runs the sandbox as a different user
	status   status
	clusters []*cluster
}

// status is the part of "status --output json" that tests use.
type status struct {
	Phase    string
	PID      int
	Clusters []struct {
		Name, Kubeconfig, Server, InsideServer string
		API                                    string
		NodeIPs                                []string
	}
}

// cluster is one cluster with an admin client.
type cluster struct {
	lab    *labUnderTest
	name   string
	config *rest.Config
	client kubernetes.Interface
	nodeIP string
}

func (l *labUnderTest) run(args ...string) (string, error) {
	line := slices.Concat(l.prefix, []string{sandboxBin, "--dir", l.dir}, args)
	return command(line[0], line[1:]...)
}

func (l *labUnderTest) up(args ...string) (string, error) {
	return l.run(append([]string{"up", "--timeout=90s", "--images", mapFile}, args...)...)
}

// command returns standard output. The error contains standard error.
func command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), nil
}

func (l *labUnderTest) connect() error {
	out, err := l.run("status", "--output=json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), &l.status); err != nil {
		return err
	}
	for _, c := range l.status.Clusters {
		cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
		if err != nil {
			return err
		}
		cfg.QPS = -1
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		l.clusters = append(l.clusters, &cluster{l, c.Name, cfg, client, c.NodeIPs[0]})
	}
	return nil
}

// namespace creates a namespace for one test and deletes it afterwards.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	ns, err := c.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now := int64(0)
		background := context.Background()
		_ = c.client.CoreV1().Pods(ns.Name).DeleteCollection(background, metav1.DeleteOptions{GracePeriodSeconds: &now},
			metav1.ListOptions{})
		_ = c.client.CoreV1().Namespaces().Delete(background, ns.Name, metav1.DeleteOptions{})
	})
	// Pods are rejected until the default ServiceAccount exists.
	eventually(t, "the default ServiceAccount", func(ctx context.Context) error {
		_, err := c.client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return ns.Name
}

// kubectl runs the kubectl of the sandbox.
func (c *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.lab.run(append([]string{"kubectl", "--cluster", c.name, "--"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// waitTimeout limits every wait. It is not a performance requirement.
const waitTimeout = 60 * time.Second

// eventually calls f until it returns nil.
func eventually(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil || last == nil {
			last = err // later errors only report the timeout
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, last)
		case <-tick.C:
		}
	}
}

func wantf(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
