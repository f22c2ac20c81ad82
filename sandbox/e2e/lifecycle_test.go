package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNativeSidecar checks that a native sidecar is ready before the app starts, restarts independently, and stops
// after the app.
func TestNativeSidecar(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	always := corev1.ContainerRestartPolicyAlways
	events := []corev1.VolumeMount{mount("events", "/events")}
	note := func(who string) []corev1.EnvVar {
		return []corev1.EnvVar{
			{Name: "NOTE", Value: who}, {Name: "START_FILE", Value: "/events/order"},
			{Name: "STOP_FILE", Value: "/events/order"},
		}
	}
	sidecar := app("sidecar")
	sidecar.RestartPolicy, sidecar.VolumeMounts, sidecar.Env = &always, events, note("sidecar")
	sidecar.StartupProbe, sidecar.ReadinessProbe = withHighThreshold(httpProbe("/healthz")), nil
	main := corev1.Container{
		Name: "main", Image: testImage, Args: []string{"-http=:8082"}, VolumeMounts: events, Env: note("main"),
	}
	p := pod("both", main)
	p.Spec.InitContainers = []corev1.Container{sidecar}
	grace := int64(20)
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Spec.Volumes = []corev1.Volume{volume("events", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})}
	// A third container outlives both and prints what they wrote.
	teller := shell("teller", `trap 'while [ $(grep -c . /events/order) -lt 5 ]; do sleep 0.05; done; tr "\n" " " < /events/order; exit' TERM; while :; do sleep 0.1; done`)
	teller.RestartPolicy, teller.VolumeMounts = &always, events
	p.Spec.InitContainers = append([]corev1.Container{teller}, p.Spec.InitContainers...)
	p = c.ready(t, ns, p)

	c.mustAsk(t, p, "exit", "code", "3", "message", "as asked")
	p = c.await(t, ns, p.Name, func(p *corev1.Pod) bool {
		s := p.Status.InitContainerStatuses[1]
		return s.RestartCount == 1 && s.Ready
	})
	if last := p.Status.InitContainerStatuses[1].LastTerminationState.Terminated; last == nil || last.ExitCode != 3 ||
		last.Message != "as asked" {
		t.Errorf("last state %+v", last)
	}
	if n := p.Status.ContainerStatuses[0].RestartCount; n != 0 {
		t.Errorf("the app was restarted %d times", n)
	}

	stream, err := c.client.CoreV1().Pods(ns).GetLogs(p.Name,
		&corev1.PodLogOptions{Container: "teller", Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	c.kubectl(t, "-n", ns, "delete", "pod", p.Name, "--wait=false")
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := stream.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	// The kubelet may add a line about the deleted container.
	line, _, _ := strings.Cut(b.String(), "\n")
	if got, want := strings.TrimSpace(line), "sidecar main sidecar main sidecar"; got != want {
		t.Errorf("starts and stops: %q, want %q", got, want)
	}
}

// TestJobWithSidecar checks that a Job with a native sidecar completes.
func TestJobWithSidecar(t *testing.T) {
	c := shared.clusters[1]
	ns := c.namespace(t)
	always := corev1.ContainerRestartPolicyAlways
	sidecar := app("sidecar")
	sidecar.RestartPolicy = &always
	p := pod("", shell("work", "echo done"))
	p.Spec.InitContainers = []corev1.Container{sidecar}
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec:       batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: p.Spec}},
	}
	if _, err := c.client.BatchV1().Jobs(ns).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job", func(ctx context.Context) error {
		j, err := c.client.BatchV1().Jobs(ns).Get(ctx, "job", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return wantf(j.Status.Succeeded == 1, "%+v", j.Status)
	})
}

// TestRestartBackOff checks that a failed container is restarted with back-off and that its termination message is
// reported.
func TestRestartBackOff(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	box := shell("fails", "echo because > /dev/termination-log; exit 4")
	c.create(t, ns, pod("fails", box))
	p := c.await(t, ns, "fails", func(p *corev1.Pod) bool {
		if len(p.Status.ContainerStatuses) == 0 {
			return false
		}
		s := p.Status.ContainerStatuses[0]
		return s.RestartCount > 0 && s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff"
	})
	last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 4 || last.Reason != "Error" || last.Message != "because\n" {
		t.Errorf("last state %+v", last)
	}
	previous, err := c.client.CoreV1().Pods(ns).GetLogs("fails",
		&corev1.PodLogOptions{Previous: true}).DoRaw(t.Context())
	if err != nil || len(previous) != 0 {
		t.Errorf("previous log: %q %v", previous, err)
	}
}

// TestContainerLeavesNoProcess checks that all processes of a container end with its first process, including
// detached ones.
func TestContainerLeavesNoProcess(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	mark := "31536123"
	p := c.ready(t, ns, pod("forks", shell("forks", "setsid sleep "+mark+" & trap '' TERM; sleep 31536000")))
	eventually(t, "the child", func(context.Context) error {
		return wantf(strings.Contains(hostProcesses(t), mark), "it does not run")
	})
	c.kubectl(t, "-n", ns, "delete", "pod", p.Name)
	eventually(t, "end of the child", func(context.Context) error {
		return wantf(!strings.Contains(hostProcesses(t), mark), "it is still running")
	})
}

func hostProcesses(t *testing.T) string {
	t.Helper()
	out, err := command("ps", "-eww", "-o", "args")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUnknownImage checks that an unknown image results in a clear error, unless the Pod sets a command.
func TestUnknownImage(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	c.create(t, ns, pod("unknown", corev1.Container{Name: "a", Image: "example.com/no-such-image:v9"}))
	p := c.await(t, ns, "unknown", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil &&
			p.Status.ContainerStatuses[0].State.Waiting.Reason == "ErrImagePull"
	})
	if m := p.Status.ContainerStatuses[0].State.Waiting.Message; !strings.Contains(m, "image map") ||
		!strings.Contains(m, "example.com/no-such-image:v9") {
		t.Errorf("message %q", m)
	}
}

// TestUnsupported checks that unsupported Pod fields are rejected with an event.
func TestUnsupported(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	hostPort := pod("hostport", app("app"))
	hostPort.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
	shared := pod("shared", app("app"))
	shared.Spec.ShareProcessNamespace = new(true)
	for want, p := range map[string]*corev1.Pod{
		"hostPort 8080: not supported": hostPort, "shareProcessNamespace: not supported": shared,
	} {
		c.create(t, ns, p)
		eventually(t, want, func(ctx context.Context) error {
			events, err := c.client.CoreV1().Events(ns).List(ctx,
				metav1.ListOptions{FieldSelector: "involvedObject.name=" + p.Name})
			if err != nil {
				return err
			}
			for _, e := range events.Items {
				if strings.Contains(e.Message, want) {
					return nil
				}
			}
			return fmt.Errorf("%d events, none with this message", len(events.Items))
		})
	}
}

// TestImageMap checks that an image without a program sets user, folder and files, and that args and env of the Pod
// take precedence over those of the image.
func TestImageMap(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	box := corev1.Container{
		Name: "tools", Image: "example.com/tools/x:1",
		Command: []string{"sh", "-c", "id -u; pwd; test -x /opt/testapp && echo there"},
	}
	if got := c.succeeded(t, ns, pod("tools", box)); got != "1234\n/work/here\nthere\n" {
		t.Errorf("got %q", got)
	}
	over := app("over")
	over.Args = []string{"-http=:8080", "-grpc=:7070"}
	over.Env = []corev1.EnvVar{{Name: "FROM_IMAGE", Value: "no"}}
	p := c.ready(t, ns, pod("over", over))
	if got := c.logs(t, ns, p.Name, "over"); got != "started -http=:8080 -grpc=:7070\n" {
		t.Errorf("got %q", got)
	}
	if got := c.kubectl(t, "-n", ns, "exec", "over", "--", "sh", "-c", "echo $FROM_IMAGE"); got != "no\n" {
		t.Errorf("got %q", got)
	}
}

// TestManyPods checks that many Pods can be created and deleted at the same time.
func TestManyPods(t *testing.T) {
	c := shared.clusters[1]
	ns := c.namespace(t)
	const n = 20
	for i := range n {
		c.create(t, ns, pod(fmt.Sprintf("p%d", i), shell("sleeps", "exec sleep 1000")))
	}
	ips := map[string]bool{}
	for i := range n {
		p := c.await(t, ns, fmt.Sprintf("p%d", i), func(p *corev1.Pod) bool {
			return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].Ready
		})
		ips[p.Status.PodIP] = true
	}
	if len(ips) != n {
		t.Errorf("%d addresses for %d Pods", len(ips), n)
	}
	c.kubectl(t, "-n", ns, "delete", "pods", "--all")
}
