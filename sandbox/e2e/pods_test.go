package e2e

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	testImage = "example.com/testapp:v1" // in the image map
	anyImage  = "example.com/whatever"   // not in the image map: a Pod must set a command
)

// app returns a container with the test program, which is ready when it serves.
func app(name string) corev1.Container {
	return corev1.Container{Name: name, Image: testImage, ReadinessProbe: httpProbe("/healthz")}
}

// shell returns a container that runs a script with the shell of the host.
func shell(name, script string) corev1.Container {
	return corev1.Container{Name: name, Image: anyImage, Command: []string{"/bin/sh", "-c", script}}
}

func pod(name string, containers ...corev1.Container) *corev1.Pod {
	grace := int64(1)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: containers, TerminationGracePeriodSeconds: &grace},
	}
}

func (c *cluster) create(t *testing.T, ns string, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	p, err := c.client.CoreV1().Pods(ns).Create(t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ready creates a Pod and waits until it is Ready.
func (c *cluster) ready(t *testing.T, ns string, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	c.create(t, ns, p)
	return c.await(t, ns, p.Name, func(p *corev1.Pod) bool {
		for _, cond := range p.Status.Conditions {
			if cond.Type == corev1.PodReady {
				return cond.Status == corev1.ConditionTrue
			}
		}
		return false
	})
}

// succeeded creates a Pod, waits for its completion, and returns the log of its first container.
func (c *cluster) succeeded(t *testing.T, ns string, p *corev1.Pod) string {
	t.Helper()
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	c.create(t, ns, p)
	done := c.await(t, ns, p.Name, func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	})
	out := c.logs(t, ns, p.Name, p.Spec.Containers[0].Name)
	if done.Status.Phase != corev1.PodSucceeded {
		t.Fatalf("Pod %s failed: %s\n%+v", p.Name, out, done.Status.ContainerStatuses)
	}
	return out
}

func (c *cluster) await(t *testing.T, ns, name string, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	eventually(t, "Pod "+name, func(ctx context.Context) error {
		got, err := c.client.CoreV1().Pods(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		p = got
		return wantf(ok(p), "init %+v\ncontainers %+v", p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	})
	return p
}

func (c *cluster) logs(t *testing.T, ns, name, container string) string {
	t.Helper()
	b, err := c.client.CoreV1().Pods(ns).GetLogs(name, &corev1.PodLogOptions{Container: container}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// ask calls the test program in a Pod through the proxy of the API server.
func (c *cluster) ask(ctx context.Context, p *corev1.Pod, path string, params ...string) (string, error) {
	req := c.client.CoreV1().RESTClient().Get().Namespace(p.Namespace).Resource("pods").Name(p.Name +
		":8080").SubResource("proxy").Suffix(path)
	for i := 0; i+1 < len(params); i += 2 {
		req = req.Param(params[i], params[i+1])
	}
	b, err := req.DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", path, err, b)
	}
	return string(b), nil
}

func (c *cluster) mustAsk(t *testing.T, p *corev1.Pod, path string, params ...string) string {
	t.Helper()
	out, err := c.ask(t.Context(), p, path, params...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func podURL(ip, path string) string {
	if strings.Contains(ip, ":") {
		ip = "[" + ip + "]"
	}
	return (&url.URL{Scheme: "http", Host: ip + ":8080", Path: path}).String()
}
