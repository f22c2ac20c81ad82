package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// result is one half of the comparison.
type result struct {
	Calls  int `json:"calls"`
	Failed int `json:"failed_calls"`
	// Latencies of an endpoint change until a sidecar has it, and of the creation of a pod with a sidecar.
	EndpointP50 float64 `json:"endpoint_p50_ms"`
	EndpointP99 float64 `json:"endpoint_p99_ms"`
	CreateP50   float64 `json:"create_p50_ms"`
	CreateP99   float64 `json:"create_p99_ms"`
	// Changes and Creations are the numbers of samples.
	Changes   int `json:"endpoint_changes"`
	Creations int `json:"creations"`
	// Memory is the largest resident memory of the control plane, CPU its CPU time.
	Memory   float64 `json:"control_plane_mb"`
	CPU      float64 `json:"control_plane_cpu_s"`
	Restarts int     `json:"restarts"`
	// Attempts are those of the attacker, Connected those that got a connection.
	Attempts  int64 `json:"attempts"`
	Connected int64 `json:"connected"`
}

// mesh is the running mesh, from the node.
type mesh struct {
	options
	kube      *kubernetes.Clientset
	sidecars  []corev1.Pod
	control   corev1.Pod
	attackers []corev1.Pod
	process   int // of the control plane
}

func newMesh(o options) (*mesh, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // the benchmark waits for each answer
	m := &mesh{options: o}
	if m.kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, s := range []struct {
		namespace, selector string
		into                func([]corev1.Pod)
	}{
		{namespace, "sidecar=yes", func(p []corev1.Pod) { m.sidecars = p }},
		{"anymesh-system", "app.kubernetes.io/name=anymesh", func(p []corev1.Pod) { m.control = p[0] }},
		{outside, "", func(p []corev1.Pod) { m.attackers = p }},
	} {
		list, err := m.kube.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: s.selector})
		if err != nil || len(list.Items) == 0 {
			return nil, errors.Join(fmt.Errorf("namespace %s has no pod with %q", s.namespace, s.selector), err)
		}
		s.into(list.Items)
	}
	for i := o.sidecars; i < o.services; i++ {
		for j := range 2 {
			if err := m.setReady(ctx, i, j, true); err != nil {
				return nil, err
			}
		}
	}
	m.process, err = processAt(m.control.Status.PodIP, "anymesh")
	return m, err
}

// measure makes calls, endpoint changes and pods for the duration, while attack runs.
func (m *mesh) measure(ctx context.Context, attack func(context.Context, *result) error) (r result, err error) {
	if err := m.startCalls(ctx); err != nil {
		return r, err
	}
	timed, cancel := context.WithTimeout(ctx, m.duration)
	defer cancel()
	spent, err := cpu(m.process)
	if err != nil {
		return r, err
	}
	var wait sync.WaitGroup
	var failures [4]error
	if attack != nil {
		wait.Go(func() { failures[0] = attack(ctx, &r) })
	}
	var endpoints, creations []time.Duration
	wait.Go(func() { endpoints, failures[1] = m.changeEndpoints(timed) })
	wait.Go(func() { creations, failures[2] = m.createPods(timed) })
	wait.Go(func() { r.Memory, failures[3] = largestMemory(timed, m.process) })
	wait.Wait()
	if err := errors.Join(append(failures[:], m.stopCalls(ctx, &r))...); err != nil {
		return r, err
	}
	after, err := cpu(m.process)
	if err != nil {
		return r, err
	}
	r.CPU = (after - spent).Seconds()
	r.Changes, r.Creations = len(endpoints), len(creations)
	printSlowest("endpoint change", endpoints)
	printSlowest("creation of a pod", creations)
	r.EndpointP50, r.EndpointP99 = quantiles(endpoints)
	r.CreateP50, r.CreateP99 = quantiles(creations)
	r.Restarts, err = m.restarts(ctx)
	return r, err
}

// printSlowest prints the slowest samples with their positions: those at the beginning are from bursts.
func printSlowest(what string, samples []time.Duration) {
	order := make([]int, len(samples))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(samples[b], samples[a]) })
	for _, i := range order[:min(5, len(order))] {
		fmt.Fprintf(os.Stderr, "%s %d of %d: %v\n", what, i+1, len(samples), samples[i].Round(time.Millisecond))
	}
}

// quantiles returns the median and the 99th percentile in milliseconds.
func quantiles(d []time.Duration) (p50, p99 float64) {
	if len(d) == 0 {
		return 0, 0
	}
	slices.Sort(d)
	at := func(q float64) float64 {
		return float64(d[min(len(d)-1, int(q*float64(len(d))))]) / float64(time.Millisecond)
	}
	return at(0.5), at(0.99)
}

// restarts counts the restarts of all containers.
func (m *mesh) restarts(ctx context.Context) (n int, err error) {
	pods, err := m.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, p := range pods.Items {
		for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			n += int(s.RestartCount)
		}
	}
	return n, nil
}

// attack runs all attacks at once from each attacker, over IPv4 and IPv6, against the control plane and the first
// sidecar, also with the certificates of all sidecars. The attackers share half a core.
func (m *mesh) attack(ctx context.Context, r *result) (err error) {
	script, err := filepath.Abs("test/attacker/from-pods.sh")
	if err != nil {
		return err
	}
	certificates, err := os.MkdirTemp("", "neighbors-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(certificates)) }()
	attacker, control := filepath.Join(m.bin, "attacker"), addresses(m.control)
	steal := exec.CommandContext(ctx, attacker, "--steal", "/proc/[0-9]*/root", "--certificates", certificates, "--control", control)
	if out, err := steal.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	var from []string
	for _, p := range m.attackers {
		from = append(from, p.Status.PodIP)
	}
	c := exec.CommandContext(ctx, script, strings.Join(from, ","), attacker, "--duration", m.duration.String(), "--control", control,
		"--sidecar", addresses(m.sidecars[0]), "--workload", namespace+"/"+serviceName(0), "--certificates", certificates)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("attackers: %w: %s", err, &complaints)
	}
	return r.readAttempts(out)
}

func addresses(p corev1.Pod) string {
	var all []string
	for _, ip := range p.Status.PodIPs {
		all = append(all, ip.IP)
	}
	return strings.Join(all, ",")
}
