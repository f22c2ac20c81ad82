package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// attackedPod has a sidecar, and restarts after its first failed probe.
const attackedPod = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: attacked}
spec:
  podSelector: {matchLabels: {app: attacked}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: attacked.colors.svc.cluster.local}}
---
apiVersion: v1
kind: Pod
metadata: {namespace: colors, name: attacked, labels: {app: attacked}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: app
      image: anymesh.dev/colors
      args: [serve]
      livenessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1, failureThreshold: 1}
      readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1, failureThreshold: 1}
`

// attackDuration is longer than the timeouts of handshakes, requests and write buffers.
const attackDuration = 15 * time.Second

// memoryOfAttack limits how much the control plane may grow, in bytes.
const memoryOfAttack = 128 << 20

// TestHostileNeighbors attacks the control plane and a sidecar from a pod without credentials, outside the mesh, over
// IPv4 and IPv6. Meanwhile, no request fails, no probe fails, pods are created, and a new pod gets its certificate and
// configuration.
func TestHostileNeighbors(t *testing.T) {
	apply(t, outsideManifests+"---"+attackedPod)
	waitReady(t, "outside", "deployment/outside")
	run(t, "-n", "colors", "wait", "--for=condition=Ready", "pod/attacked", "--timeout=60s")
	attacked, control := podOf(t, "colors", "app=attacked"), podOf(t, "anymesh-system", "app.kubernetes.io/name=anymesh")
	from, process := podOf(t, "outside", "app=outside"), processAt(t, "anymesh", control.Status.PodIP)
	startAttack(t, time.Second, from, []attackTarget{
		{"admin-path", control, 9090},
		{"admin-path", attacked, 9901},
		{"admin-path", attacked, 15020},
		{"old-tls", control, 9443},
		{"old-tls", control, 15010},
		{"old-tls", control, 15128},
	}).check(t)
	memoryPeak(t, process) // of earlier tests
	before := memoryPeak(t, process)
	underSteadyLoad(t, func() {
		attack := startAttack(t, attackDuration, from, []attackTarget{
			{"proxy-port", attacked, 15000},
			{"proxy-port", attacked, 15001},
			{"slow-scrape", attacked, 15020},
			{"silent", control, 15128},
			{"review", control, 9443},
			{"large-review", control, 9443},
			{"slow-request", control, 15010},
			{"certificate", control, 15010},
			{"slow-scrape", control, 9090},
		})
		created := createPods(t, attack, attackDuration/3)
		run(t, "-n", "colors", "rollout", "restart", "deployment/tally")
		waitReady(t, "colors", "deployment/tally") // its new pod has a certificate and a configuration
		if created += createPods(t, attack, attackDuration); created < 10 {
			t.Errorf("%d pods were created during the attack, want at least 10", created)
		}
		attack.check(t)
	})
	for name, label := range map[string]string{
		"anymesh_webhook_requests_total":         `sender="other"`,
		"anymesh_http_refused_connections_total": `server="webhooks"`, "anymesh_xds_refused_total": `reason="handshakes_per_source"`,
	} {
		if n, err := sumMetric(t.Context(), controlPlaneAddresses(t), name, label); err != nil || n == 0 {
			t.Errorf("metric %s{%s} is %v, want the attack in it (%v)", name, label, n, err)
		}
	}
	if after := memoryPeak(t, process); after > before+memoryOfAttack {
		t.Errorf("the control plane grew from %d to %d MiB, want at most %d MiB more", before>>20, after>>20,
			memoryOfAttack>>20)
	} else {
		t.Logf("the control plane had %d MiB before, and up to %d MiB under attack", before>>20, after>>20)
	}
	for _, p := range []corev1.Pod{attacked, control} {
		unharmed(t, p)
	}
}

// podOf returns the first pod with a label.
func podOf(t *testing.T, namespace, label string) corev1.Pod {
	t.Helper()
	pods, err := lab.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: label})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("namespace %s has no pod %s: %v", namespace, label, err)
	}
	return pods.Items[0]
}

// processAt returns the process ID of a program in the pod with an address.
func processAt(t *testing.T, program, address string) string {
	t.Helper()
	process := strings.TrimSpace(mustOnNode(t, "sh", "-c", `for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = "$0" ] &&
		grep -wF -A1 "$1" $p/net/fib_trie | grep -q "host LOCAL" && echo ${p#/proc/}; done; true`, program, address))
	if _, err := strconv.Atoi(process); err != nil {
		t.Fatalf("process %s at %s: %q", program, address, process)
	}
	return process
}

// memoryPeak returns the largest resident memory of a process since the last call, in bytes.
func memoryPeak(t *testing.T, process string) int {
	t.Helper()
	text := mustOnNode(t, "sh", "-c", `grep VmHWM /proc/$0/status && echo 5 >/proc/$0/clear_refs`, process)
	var kB int
	if _, err := fmt.Sscanf(text, "VmHWM: %d kB", &kB); err != nil {
		t.Fatalf("status of process %s: %q: %v", process, text, err)
	}
	return kB << 10
}

// attackOf is a running attack.
type attackOf struct {
	done chan struct{}
	out  string
	err  error
}

// attackTarget is an address of an attack.
type attackTarget struct {
	kind string
	pod  corev1.Pod
	port int
}

func startAttack(t *testing.T, duration time.Duration, from corev1.Pod, targets []attackTarget) *attackOf {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(root, "test", "attacker", "from-pod.sh"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{script, from.Status.PodIP, filepath.Join(lab.bin, "attacker"), "--duration", duration.String()}
	for _, target := range targets {
		for _, ip := range target.pod.Status.PodIPs {
			args = append(args, target.kind+"="+net.JoinHostPort(ip.IP, fmt.Sprint(target.port)))
		}
	}
	a := &attackOf{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.out, a.err = onNode(t.Context(), args...)
	}()
	t.Cleanup(func() { <-a.done })
	return a
}

// check waits for the end of the attack, and checks that it took place.
func (a *attackOf) check(t *testing.T) {
	t.Helper()
	<-a.done
	if a.err != nil {
		t.Fatal(a.err)
	}
	t.Logf("attacker: %s", a.out)
	var kinds map[string]struct{ Attempts, Connected, Answered int }
	if err := json.Unmarshal([]byte(a.out), &kinds); err != nil {
		t.Fatal(err)
	}
	for kind, c := range kinds {
		if c.Attempts == 0 {
			t.Errorf("%s made no attempt", kind)
		}
		if kind == "proxy-port" && c.Connected > 0 {
			t.Errorf("%d connections to the ports of the proxy, want none", c.Connected)
		}
		if slices.Contains([]string{"admin-path", "old-tls"}, kind) && c.Answered > 0 {
			t.Errorf("%d attempts of %s succeeded, want none", c.Answered, kind)
		}
		if slices.Contains([]string{"silent", "admin-path", "old-tls"}, kind) && c.Connected == 0 {
			t.Errorf("%s made no connection: the attack did not take place", kind)
		}
	}
}

// createPods creates and deletes pods that get a sidecar, for a time or until the attack ends. It counts them.
func createPods(t *testing.T, during *attackOf, most time.Duration) (n int) {
	t.Helper()
	pods := lab.kube.CoreV1().Pods("colors")
	end, pause := time.After(most), time.Duration(0)
	for ; ; n++ {
		select {
		case <-during.done:
			return n
		case <-end:
			return n
		case <-time.After(pause):
			pause = 200 * time.Millisecond
		}
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "created-", Labels: map[string]string{"app": "tally"}},
			Spec:       corev1.PodSpec{SchedulerName: "none", Containers: []corev1.Container{{Name: "app", Image: "none"}}},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		created, err := pods.Create(ctx, p, metav1.CreateOptions{})
		cancel()
		if err != nil {
			t.Fatalf("pod %d: %v", n, err)
		}
		if err := pods.Delete(contextOf(t), created.Name, *metav1.NewDeleteOptions(0)); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(created.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == "envoy" }) {
			t.Errorf("pod %d has no sidecar", n)
		}
	}
}

// unharmed checks that a pod was ready all the time.
func unharmed(t *testing.T, before corev1.Pod) {
	t.Helper()
	now, err := lab.kube.CoreV1().Pods(before.Namespace).Get(t.Context(), before.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slices.Concat(now.Status.InitContainerStatuses, now.Status.ContainerStatuses) {
		if i := slices.IndexFunc(slices.Concat(before.Status.InitContainerStatuses, before.Status.ContainerStatuses),
			func(b corev1.ContainerStatus) bool { return b.Name == s.Name && b.RestartCount == s.RestartCount }); i < 0 {
			t.Errorf("container %s of %s was restarted", s.Name, now.Name)
		}
	}
	ready := func(p *corev1.Pod) corev1.PodCondition {
		i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		if i < 0 {
			t.Fatalf("%s has no condition Ready", p.Name)
		}
		return p.Status.Conditions[i]
	}
	was, is := ready(&before), ready(now)
	if t.Failed() || !is.LastTransitionTime.Equal(&was.LastTransitionTime) {
		t.Log(run(t, "-n", now.Namespace, "get", "events", "--field-selector", "involvedObject.name="+now.Name))
	}
	if is.Status != corev1.ConditionTrue || !is.LastTransitionTime.Equal(&was.LastTransitionTime) {
		t.Errorf("%s was not ready all the time: %s since %v", now.Name, is.Status, is.LastTransitionTime)
	}
}
