package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// secondCaller calls color over HTTP, store over TCP, and pool, whose endpoints come from EDS, in addition to the
// steady load of front.
const secondCaller = `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {namespace: colors, name: second}
spec:
  podSelector: {matchLabels: {app: second}}
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: second.colors.svc.cluster.local}}
  backends:
    - virtualService: {virtualServiceRef: {name: color}}
    - virtualService: {virtualServiceRef: {name: store}}
    - virtualService: {virtualServiceRef: {name: pool}}
---
apiVersion: v1
kind: Service
metadata: {namespace: colors, name: second}
spec: {selector: {app: second}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: colors, name: second}
spec:
  selector: {matchLabels: {app: second}}
  template:
    metadata: {labels: {app: second}}
    spec:
      containers:
        - name: app
          image: anymesh.dev/colors
          args:
            - drive
            - --listen=:8080
            - --rate=20
            - http://color.colors.svc.cluster.local:8080/
            - tcp://store.colors.svc.cluster.local:9000
            - http://pool.colors.svc.cluster.local:8080/
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
`

// TestOutages checks that requests succeed while control planes and the API server crash, hang, are upgraded or lose
// the network, that unchanged resources are not sent again, and that later changes arrive.
func TestOutages(t *testing.T) {
	ownCluster(t, "outage", "--set", "replicas=2")
	if _, err := kubectlInput(t.Context(), poolManifests+"---"+secondCaller, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	waitReady(t, "colors", "deployment/pool")
	waitReady(t, "colors", "deployment/second")
	waitReady(t, "anymesh-system", "deployment/anymesh")
	waitAllConnected(t, controlPlaneAddresses(t), len(podsOf(t, "colors", "")))
	t.Run("control plane killed", testControlPlaneKilled)
	t.Run("sidecar killed", testSidecarKilled)
	long := func(name string, test func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			onlyLong(t)
			test(t)
		})
	}
	long("API server unavailable", testAPIServerOutage)
	long("control plane upgraded", testControlPlaneUpgraded)
	long("one sidecar disconnected", testSidecarDisconnected)
	long("control plane hung", testControlPlaneHung)
}

// underBothLoads makes front and second call while change runs. No call may fail.
func underBothLoads(t *testing.T, change func()) {
	t.Helper()
	counts := func(verb string) map[string]map[string]int {
		seen, err := secondCounts(contextOf(t), verb)
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	counts("POST")
	underSteadyLoad(t, change)
	seen := counts("GET")
	t.Logf("second: %v", seen)
	for _, service := range []string{
		"color.colors.svc.cluster.local:8080", "store.colors.svc.cluster.local:9000",
		"pool.colors.svc.cluster.local:8080",
	} {
		answered := 0
		for outcome, n := range seen[service] {
			answered += n
			if strings.HasPrefix(outcome, "failed") {
				t.Errorf("%s: %d calls %s", service, n, outcome)
			}
		}
		if answered < 20 {
			t.Errorf("too few calls from %s: %v", service, seen)
		}
	}
}

// routeAllTo routes all calls of color to one version.
func routeAllTo(t *testing.T, version string) {
	t.Helper()
	weights := map[string]int{version: 1}
	route := fmt.Sprintf(`[{"op":"replace","path":"/spec/routes/0/httpRoute/action/weightedTargets","value":[`+
		`{"virtualNodeRef":{"name":"color-red"},"weight":%d},{"virtualNodeRef":{"name":"color-blue"},"weight":%d}]}]`, weights["red"], weights["blue"])
	// The API server may not reach the webhooks of a restarted control plane yet.
	eventually(t, 30*time.Second, "the API server accepts the edit", func() error {
		_, err := appMesh(t, "virtualrouters", "colors").Patch(t.Context(), "color", types.JSONPatchType, []byte(route),
			metav1.PatchOptions{})
		return err
	})
}

// updateTimeout limits how long a change takes to reach sidecars that have a stream. After a network failure, both ends
// must detect it first.
const (
	updateTimeout     = 20 * time.Second
	lateUpdateTimeout = 90 * time.Second
)

// outageDuration exceeds the timeouts of leases and of idle streams. The long run adds the backoff of reconnects.
func outageDuration() time.Duration {
	if os.Getenv("ANYMESH_TEST_LONG") != "" {
		return time.Minute
	}
	return 25 * time.Second
}

func testControlPlaneKilled(t *testing.T) {
	at, n := sidecars(t), len(podsOf(t, "colors", ""))
	service, err := lab.kube.CoreV1().Services("anymesh-system").Get(t.Context(), "anymesh", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	underBothLoads(t, func() {
		before := updateStats(t, at)
		// SIGSTOP keeps the processes from reacting to kubelet, and SIGKILL prevents a clean shutdown. Scaling to
		// zero keeps kubelet from restarting them.
		processes := controlPlanePIDs(t)
		if len(processes) != 2 {
			t.Fatalf("control planes: %v", processes)
		}
		signal(t, "STOP", processes...)
		run(t, "-n", "anymesh-system", "scale", "deployment", "anymesh", "--replicas=0")
		signal(t, "KILL", processes...)
		eventually(t, updateTimeout, "no control plane runs", func() error {
			if left := controlPlanePIDs(t); len(left) > 0 {
				return fmt.Errorf("processes %v", left)
			}
			return checkNoListener(t.Context(), service.Spec.ClusterIP, 15128)
		})
		lease, err := lab.kube.CoordinationV1().Leases("anymesh-system").Get(t.Context(), "anymesh",
			metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			t.Errorf("killed control planes released the Lease: %v, %+v", err, lease)
		}
		checkDuring(t, outageDuration(), func() error { return checkNoListener(t.Context(), service.Spec.ClusterIP, 15128) })
		for pod, address := range at {
			eventually(t, updateTimeout, pod+" is not connected", func() error { // but for attempts of its agent
				figures, err := stats(t.Context(), address, "^control_plane.connected_state$")
				if err == nil && figures["control_plane.connected_state"] != 0 {
					err = fmt.Errorf("the stream is open: %v", figures)
				}
				return err
			})
		}
		run(t, "-n", "anymesh-system", "scale", "deployment", "anymesh", "--replicas=2")
		waitReady(t, "anymesh-system", "deployment/anymesh")
		fresh := controlPlaneAddresses(t)
		waitAllConnected(t, fresh, n)
		checkNothingSent(t, fresh, n)
		checkUnchanged(t, before, updateStats(t, at))
		routeAllTo(t, "blue")
		waitForVersion(t, "front", "blue", updateTimeout)
		waitForVersion(t, "second", "blue", updateTimeout)
	})
}

func testControlPlaneUpgraded(t *testing.T) {
	versions := []string{"red", "blue"}
	edits := 0
	underBothLoads(t, func() {
		run(t, "-n", "anymesh-system", "patch", "deployment", "anymesh", "--type=json", "-p", `[
			{"op":"add","path":"/spec/template/metadata/annotations/anymesh.dev~1upgraded","value":"yes"},
			{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--log-level=debug"}]`)
		rolled := make(chan error, 1)
		go func() {
			_, err := kubectl(contextOf(t), "-n", "anymesh-system", "rollout", "status", "deployment/anymesh",
				"--timeout=180s")
			rolled <- err
		}()
		for done := false; !done; edits++ {
			select {
			case err := <-rolled:
				if err != nil {
					t.Fatal(err)
				}
				done = true
			default:
			}
			routeAllTo(t, versions[edits%2])
			waitForVersion(t, "second", versions[edits%2], 60*time.Second)
			waitForVersion(t, "front", versions[edits%2], 60*time.Second)
		}
		eventually(t, updateTimeout, "the old control planes have stopped", func() error {
			if left := controlPlaneAddresses(t); len(left) != 2 {
				return fmt.Errorf("%v", left)
			}
			return nil
		})
		waitAllConnected(t, controlPlaneAddresses(t), len(podsOf(t, "colors", "")))
	})
	if edits < 2 {
		t.Errorf("only %d edits during the upgrade", edits)
	}
}

func testSidecarDisconnected(t *testing.T) {
	front := strings.TrimSpace(run(t, "-n", "colors", "get", "pods", "-l", "app=front", "-o",
		"jsonpath={.items[0].status.podIP}"))
	connected := hostPort(front, 9901)
	underBothLoads(t, func() {
		routeAllTo(t, "red")
		waitForVersion(t, "front", "red", updateTimeout)
		heal := partition(t, front, "drop")
		routeAllTo(t, "blue")
		waitForVersion(t, "second", "blue", updateTimeout)
		checkDuring(t, outageDuration(), func() error {
			if got := callsFrom(t, "front", colorURL, 5); got["red"] != 5 {
				return fmt.Errorf("disconnected front reaches %v", got)
			}
			return nil
		})
		eventually(t, updateTimeout, "Envoy detects the dead stream", func() error {
			figures, err := stats(t.Context(), connected, "^control_plane.connected_state$")
			if err == nil && figures["control_plane.connected_state"] != 0 {
				// an attempt fails after 5 s and is followed by a pause
				err = errors.New("Envoy is connected or connecting")
			}
			return err
		})
		heal()
		waitForVersion(t, "front", "blue", lateUpdateTimeout)
		waitAllConnected(t, controlPlaneAddresses(t), len(podsOf(t, "colors", "")))
	})
}

func testControlPlaneHung(t *testing.T) {
	underBothLoads(t, func() {
		at, fresh := sidecars(t), controlPlaneAddresses(t)
		before := updateStats(t, at)
		processes := controlPlanePIDs(t)
		signal(t, "STOP", processes...)
		awakened := false
		awaken := func() {
			if !awakened {
				awakened = true
				signal(t, "CONT", processes...)
			}
		}
		defer awaken()
		checkDuring(t, 20*time.Second, func() error { return nil })
		if _, err := fetch(t.Context(), fresh[0]+"readyz"); err == nil {
			t.Error("the hung control plane responds")
		}
		awaken()
		waitReady(t, "anymesh-system", "deployment/anymesh")
		waitAllConnected(t, fresh, len(at))
		checkUnchanged(t, before, updateStats(t, at))
		routeAllTo(t, "red")
		waitForVersion(t, "front", "red", updateTimeout)
		waitForVersion(t, "second", "red", updateTimeout)
	})
}
