package e2e

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAPIServerRestart checks that Pods and Services of a cluster continue while its API server is down, that the
// other cluster is not affected, and that all objects exist after the restart.
func TestAPIServerRestart(t *testing.T) {
	c := shared.clusters[1]
	ns := c.namespace(t)
	p := c.ready(t, ns, pod("stays", app("app")))
	answers := func() error {
		_, err := shared.run("exec", "--cluster", c.name, "--", "python3", "-c",
			"import urllib.request,sys; urllib.request.urlopen(sys.argv[1], timeout=5)", "http://"+p.Status.PodIP+":8080/")
		return err
	}
	eventually(t, "the Pod responds", func(context.Context) error { return answers() })
	must := func(args ...string) {
		t.Helper()
		if out, err := shared.run(args...); err != nil {
			t.Fatal(out, err)
		}
	}
	refused := func(text string, args ...string) {
		t.Helper()
		if _, err := shared.run(args...); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v: want an error with %q, got %v", args, text, err)
		}
	}
	refused("already running", "apiserver", "start", "--cluster", c.name)
	must("apiserver", "kill", "--cluster", c.name)
	refused("is not running", "apiserver", "kill", "--cluster", c.name)
	if _, err := c.client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the killed API server responds")
	}
	if err := answers(); err != nil {
		t.Error(err)
	}
	if _, err := shared.clusters[0].client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("the other cluster: %v", err)
	}
	must("apiserver", "start", "--cluster", c.name)
	now, err := c.client.CoreV1().Pods(ns).Get(t.Context(), p.Name, metav1.GetOptions{})
	if err != nil || now.UID != p.UID || now.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the Pod was replaced or restarted: %v, %+v", err, now.Status)
	}
	c.ready(t, ns, pod("new", app("app")))
}
