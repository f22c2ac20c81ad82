package e2e

import (
	"context"
	"fmt"
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

// attackingPods are outside any mesh.
const attackingPods = `
apiVersion: v1
kind: Namespace
metadata: {name: outside}
---
apiVersion: v1
kind: Pod
metadata: {namespace: outside, name: attacker-0, labels: {app: attacker}}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, image: anymesh.dev/colors, args: [serve]}]}
---
apiVersion: v1
kind: Pod
metadata: {namespace: outside, name: attacker-1, labels: {app: attacker}}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: app, image: anymesh.dev/colors, args: [serve]}]}
`

// attackDuration is longer than the timeouts of handshakes, requests and write buffers.
const attackDuration = 15 * time.Second

// memoryOfAttack limits how much the control plane may grow, in bytes.
const memoryOfAttack = 128 << 20

// TestHostileNeighbors attacks the control plane and a sidecar from two plain pods outside the mesh, over IPv4 and
// IPv6, also with certificates that were stolen from sidecars. Meanwhile, no request fails, no probe fails, pods are
// created, a new pod gets its certificate and configuration, and the log stays short.
func TestHostileNeighbors(t *testing.T) {
	onlyLong(t)
	apply(t, attackedPod+"---"+attackingPods)
	run(t, "-n", "outside", "wait", "--for=condition=Ready", "pod", "-l", "app=attacker", "--timeout=180s")
	run(t, "-n", "colors", "wait", "--for=condition=Ready", "pod/attacked", "--timeout=180s")
	attacked, control := podOf(t, "colors", "app=attacked"), podOf(t, "anymesh-system", "app.kubernetes.io/name=anymesh")
	process, planes := processAt(t, "anymesh", control.Status.PodIP), controlPlaneAddresses(t)
	startAttack(t, attacked, control, "--duration=1s", "--kinds=admin-path,old-tls").check(t)
	certificates := t.TempDir()
	mustOnNode(t, filepath.Join(lab.bin, "attacker"), "--steal", "/proc/[0-9]*/root", "--certificates", certificates,
		"--control", control.Status.PodIP)
	memoryPeak(t, process) // of earlier tests
	before := memoryPeak(t, process)
	began := metav1.Now()
	underSteadyLoad(t, func() {
		attack := startAttack(t, attacked, control, "--duration", attackDuration.String(), "--certificates", certificates)
		attack.waitUnfinished(t, planes)
		created := createPods(t, attack, attackDuration/3)
		run(t, "-n", "colors", "rollout", "restart", "deployment/tally")
		waitReady(t, "colors", "deployment/tally") // its new pod has a certificate and a configuration
		if created += createPods(t, attack, attackDuration); created < 3 {
			t.Errorf("%d pods were created during the attack, want at least 3", created)
		}
		attack.check(t)
		if attack.evaluated == 0 { // on a busy machine, all of them are late
			attack = startAttack(t, attacked, control, "--duration=5s", "--kinds=largest-review,many-values")
			attack.check(t)
		}
		if attack.evaluated == 0 {
			t.Error("none of the largest reviews was evaluated: the attack did not take place")
		}
	})
	checkAttackIsCounted(t, planes)
	checkLogIsShort(t, control.Name, began)
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
