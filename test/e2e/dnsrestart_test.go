package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lateName is a name that the control plane sends after its restart.
const lateName = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualService
metadata: {name: late, namespace: lookups}
spec: {awsName: late.apps.pvt.aws.local, provider: {virtualNode: {virtualNodeRef: {name: hidden}}}}
`

// lookedUp are a name that only the agent answers, and one that it forwards to CoreDNS.
var lookedUp = []string{"hidden.apps.pvt.aws.local", "kubernetes.default.svc.cluster.local"}

// TestDNS checks the DNS server of the agent.
func TestDNS(t *testing.T) {
	apply(t, lookupManifests)
	waitReady(t, "lookups", "deployment/client")
	pods := podsOf(t, "lookups", "app=client")
	if len(pods) != 2 {
		t.Fatalf("%d pods, want 2", len(pods))
	}
	t.Run("answers of CoreDNS", func(t *testing.T) { testAnswersOfCoreDNS(t, pods[0].Name) })
	t.Run("restarts", func(t *testing.T) { testRestarts(t, pods[0], pods[1]) })
	t.Run("termination", func(t *testing.T) { testTermination(t, pods[0].Name) })
}

// testRestarts looks up names while agents, the control plane and CoreDNS restart. No question may fail, with the
// resolver of Go and with that of the C library.
func testRestarts(t *testing.T, first, second corev1.Pod) {
	expected := map[string]bool{}
	for _, name := range lookedUp {
		version, err := lookUp(t, first.Name, name)
		if err != nil {
			t.Fatal(err)
		}
		expected[version] = true
	}
	steady := []lookups{startLookups(t, first.Name), startLookups(t, second.Name)}

	killAgent(t, first)
	waitRestarted(t, first.Name)
	eventually(t, 30*time.Second, "the pod is ready", func() error { return podReady(t, first.Name) })

	run(t, "-n", "anymesh-system", "scale", "deployment", "anymesh", "--replicas=0")
	eventually(t, updateTimeout, "no control plane runs", func() error {
		if left := controlPlanePIDs(t); len(left) > 0 {
			return fmt.Errorf("processes %v", left)
		}
		return nil
	})
	// The second agent restarts without a control plane: it has cached names, and is not ready.
	killAgent(t, second)
	waitRestarted(t, second.Name)
	for _, name := range lookedUp {
		if _, err := lookUp(t, second.Name, name); err != nil {
			t.Errorf("without control plane: %v", err)
		}
	}
	run(t, "-n", "anymesh-system", "scale", "deployment", "anymesh", "--replicas=1")
	waitReady(t, "anymesh-system", "deployment/anymesh")
	eventually(t, 30*time.Second, "the pod is ready", func() error { return podReady(t, second.Name) })
	apply(t, lateName)
	for _, pod := range []corev1.Pod{first, second} {
		eventually(t, updateTimeout, pod.Name+" answers a new name", func() error {
			_, err := lookUp(t, pod.Name, "late.apps.pvt.aws.local")
			return err
		})
	}

	for _, action := range []string{"kill", "start"} {
		if _, err := anymesh(t.Context(), "sandbox", "dns", action, "--name", lab.name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := lookUp(t, second.Name, lookedUp[1]); err != nil {
		t.Error(err)
	}
	var unexpected []string
	for _, l := range steady {
		unexpected = append(unexpected, l.finish(t, expected)...)
	}
	if len(unexpected) > 0 {
		pods, _ := kubectl(t.Context(), "-n", "lookups", "get", "pods", "-o", "wide")
		t.Log(pods)
		for _, pod := range []corev1.Pod{first, second} {
			logs, _ := kubectl(t.Context(), "-n", "lookups", "logs", pod.Name, "-c", "envoy", "--tail=40")
			t.Log(logs)
		}
		t.Error(strings.Join(unexpected, "\n"))
	}
}

// testTermination checks that the agent answers the questions of an application that still runs while its pod
// terminates: Python ignores SIGTERM.
func testTermination(t *testing.T, pod string) {
	run(t, "-n", "lookups", "delete", "pod", pod, "--wait=false")
	get := func(verb, port, path string) ([]byte, error) {
		return lab.kube.CoreV1().RESTClient().Verb(verb).Namespace("lookups").Resource("pods").Name(pod + ":" + port).
			SubResource("proxy").Suffix(path).DoRaw(t.Context())
	}
	// The application gets SIGTERM after a delay, when Envoy is drained.
	eventually(t, 10*time.Second, "the other container has stopped", func() error {
		_, err := get("GET", "8085", "healthz")
		if err == nil {
			return errors.New("it runs")
		}
		if !apierrors.IsServiceUnavailable(err) { // the API server cannot connect
			return err
		}
		return nil
	})
	if _, err := get("DELETE", "8086", "counts"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "lookups after SIGTERM", func() error {
		counts, done := map[string]int{}, 0
		raw, err := get("GET", "8086", "counts")
		if err == nil {
			err = json.Unmarshal(raw, &counts)
		}
		for outcome, n := range counts {
			if strings.HasPrefix(outcome, "error") {
				t.Fatalf("%d lookups: %s", n, outcome)
			}
			done += n
		}
		if err == nil && done < 10 {
			err = fmt.Errorf("%d lookups", done)
		}
		return err
	})
}

// killAgent kills the agent of a pod with SIGKILL.
func killAgent(t *testing.T, pod corev1.Pod) {
	t.Helper()
	found := processesAt(t, pod.Status.PodIP, "--dns-por[t]")
	if len(found) != 1 {
		t.Fatalf("agents of %s: %v", pod.Name, found)
	}
	signal(t, "KILL", found...)
}

// processesAt returns the processes of the pod with an address that have an argument. The argument is a pattern that
// does not match itself.
func processesAt(t *testing.T, address, argument string) []string {
	t.Helper()
	return strings.Fields(mustOnNode(t, "sh", "-c", `for p in $(grep -lxzs -e "$1" /proc/[0-9]*/cmdline | cut -d/ -f3); do
		nsenter -t $p -n ip -o address | grep -qF " $0/" && echo $p; done; true`, address, argument))
}

// sidecarStatus returns the status of the sidecar container of a pod in namespace lookups.
func sidecarStatus(t *testing.T, pod string) (corev1.ContainerStatus, error) {
	t.Helper()
	p, err := lab.kube.CoreV1().Pods("lookups").Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		return corev1.ContainerStatus{}, err
	}
	for _, c := range p.Status.InitContainerStatuses {
		if c.Name == "envoy" {
			return c, nil
		}
	}
	return corev1.ContainerStatus{}, fmt.Errorf("%s has no container envoy", pod)
}

// waitRestarted waits until the sidecar container has restarted once, and logs how long it did not run.
func waitRestarted(t *testing.T, pod string) {
	t.Helper()
	eventually(t, 30*time.Second, "the sidecar of "+pod+" restarts", func() error {
		c, err := sidecarStatus(t, pod)
		if err == nil && (c.RestartCount != 1 || c.State.Running == nil) {
			err = fmt.Errorf("%d restarts, state %+v", c.RestartCount, c.State)
		}
		if err == nil {
			t.Logf("%s: sidecar ended at %v, runs since %v", pod, c.LastTerminationState.Terminated.FinishedAt,
				c.State.Running.StartedAt)
		}
		return err
	})
}

func podReady(t *testing.T, pod string) error {
	t.Helper()
	c, err := sidecarStatus(t, pod)
	if err == nil && !c.Ready {
		err = errors.New("the sidecar is not ready")
	}
	return err
}
