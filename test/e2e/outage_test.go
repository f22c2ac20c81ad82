package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// secondCaller calls color over HTTP, store over TCP and pool, whose endpoints it is told of by discovery, beside the
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

// Whatever the sidecars are configured by may go away, all of it or for some of them, by a crash, an upgrade or a cut:
// requests go on, what did not change is not sent again, and what changes afterwards arrives.
func TestOutages(t *testing.T) {
	ownLab(t, "outage", "--set", "replicas=2")
	if _, err := kubectlInput(t.Context(), poolManifests+"---"+secondCaller, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	waitReady(t, "colors", "deployment/pool")
	waitReady(t, "colors", "deployment/second")
	waitReady(t, "anymesh-system", "deployment/anymesh")
	allConnected(t, planes(t), len(colorsPods(t)))
	t.Run("control plane killed", controlPlaneKilled)
	t.Run("control plane upgraded", controlPlaneUpgraded)
	t.Run("API server away", apiServerAway)
	t.Run("one sidecar cut off", sidecarCutOff)
	t.Run("control plane hung", func(t *testing.T) {
		onlyLong(t)
		controlPlaneHung(t)
	})
}

// underBothLoads has front and second call while change runs; no call may fail.
func underBothLoads(t *testing.T, change func()) {
	t.Helper()
	counts := func(verb string) (seen map[string]map[string]int) {
		raw, err := lab.kube.CoreV1().RESTClient().Verb(verb).Namespace("colors").Resource("services").Name("second:8080").
			SubResource("proxy").Suffix("counts").DoRaw(contextOf(t))
		if err == nil {
			err = json.Unmarshal(raw, &seen)
		}
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
			t.Errorf("there was hardly any load on %s: %v", service, seen)
		}
	}
}

// paint has all calls of color answered by one version.
func paint(t *testing.T, version string) {
	t.Helper()
	weights := map[string]int{version: 1}
	route := fmt.Sprintf(`[{"op":"replace","path":"/spec/routes/0/httpRoute/action/weightedTargets","value":[`+
		`{"virtualNodeRef":{"name":"color-red"},"weight":%d},{"virtualNodeRef":{"name":"color-blue"},"weight":%d}]}]`, weights["red"], weights["blue"])
	// The webhooks of a control plane that has just come back may not be reachable for the API server yet.
	eventually(t, 30*time.Second, "the API server takes the edit", func() error {
		_, err := appMesh(t, "virtualrouters", "colors").Patch(t.Context(), "color", types.JSONPatchType, []byte(route),
			metav1.PatchOptions{})
		return err
	})
}

// painted waits until a caller meets one version only.
func painted(t *testing.T, caller, version string, within time.Duration) {
	t.Helper()
	began := time.Now()
	eventually(t, within, caller+" meets "+version, func() error {
		const calls = 20
		if got := callsFrom(t, caller, colorURL, calls); got[version] != calls {
			return fmt.Errorf("got %v", got)
		}
		return nil
	})
	t.Logf("%s meets %s after %v", caller, version, time.Since(began).Round(100*time.Millisecond))
}

// arrives is how long a change may take to sidecars that have a stream. Where the network was cut, both ends have to
// notice first.
const (
	arrives     = 20 * time.Second
	arrivesLate = 90 * time.Second
)

func controlPlaneKilled(t *testing.T) {
	at, n := sidecars(t), len(colorsPods(t))
	service, err := lab.kube.CoreV1().Services("anymesh-system").Get(t.Context(), "anymesh", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	underBothLoads(t, func() {
		before := configured(t, at)
		// Stopped, they cannot react to what kubelet tells them; killed, they leave nothing in order. Scaling keeps
		// kubelet from starting them again.
		processes := controlPlanes(t)
		if len(processes) != 2 {
			t.Fatalf("control planes: %v", processes)
		}
		signal(t, "STOP", processes...)
		run(t, "-n", "anymesh-system", "scale", "deployment", "anymesh", "--replicas=0")
		signal(t, "KILL", processes...)
		eventually(t, arrives, "nobody is left", func() error {
			if left := controlPlanes(t); len(left) > 0 {
				return fmt.Errorf("processes %v", left)
			}
			return nobodyAt(t.Context(), service.Spec.ClusterIP, 15128)
		})
		lease, err := lab.kube.CoordinationV1().Leases("anymesh-system").Get(t.Context(), "anymesh",
			metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			t.Errorf("the Lease was released, by whom was killed: %v, %+v", err, lease)
		}
		awayFor(t, 60*time.Second, func() error { return nobodyAt(t.Context(), service.Spec.ClusterIP, 15128) })
		for pod, address := range at {
			if figures, err := stats(t.Context(), address, "^control_plane.connected_state$"); err != nil ||
				figures["control_plane.connected_state"] != 0 {
				t.Errorf("%s was not cut off: %v, %v", pod, err, figures)
			}
		}
		run(t, "-n", "anymesh-system", "scale", "deployment", "anymesh", "--replicas=2")
		waitReady(t, "anymesh-system", "deployment/anymesh")
		fresh := planes(t)
		allConnected(t, fresh, n)
		nothingSent(t, fresh, n)
		unchanged(t, before, configured(t, at))
		paint(t, "blue")
		painted(t, "front", "blue", arrives)
		painted(t, "second", "blue", arrives)
	})
}

func controlPlaneUpgraded(t *testing.T) {
	versions := []string{"red", "blue"}
	edits := 0
	underBothLoads(t, func() {
		run(t, "-n", "anymesh-system", "patch", "deployment", "anymesh", "--type=json", "-p", `[
			{"op":"add","path":"/spec/template/metadata/annotations/anymesh.dev~1upgraded","value":"yes"},
			{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--log-level=debug"}]`)
		rolled := make(chan error, 1)
		go func() {
			_, err := kubectl(contextOf(t), "-n", "anymesh-system", "rollout", "status", "deployment/anymesh",
				"--timeout=120s")
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
			paint(t, versions[edits%2])
			painted(t, "second", versions[edits%2], 60*time.Second)
			painted(t, "front", versions[edits%2], 60*time.Second)
		}
		eventually(t, arrives, "the old control planes are gone", func() error {
			if left := planes(t); len(left) != 2 {
				return fmt.Errorf("%v", left)
			}
			return nil
		})
		allConnected(t, planes(t), len(colorsPods(t)))
	})
	if edits < 2 {
		t.Errorf("%d edits met the upgrade", edits)
	}
}

func sidecarCutOff(t *testing.T) {
	front := strings.TrimSpace(run(t, "-n", "colors", "get", "pods", "-l", "app=front", "-o",
		"jsonpath={.items[0].status.podIP}"))
	connected := hostPort(front, 9901)
	underBothLoads(t, func() {
		paint(t, "red")
		painted(t, "front", "red", arrives)
		heal := partition(t, front, "drop")
		paint(t, "blue")
		painted(t, "second", "blue", arrives)
		awayFor(t, 60*time.Second, func() error {
			if got := callsFrom(t, "front", colorURL, 5); got["red"] != 5 {
				return fmt.Errorf("cut off, front meets %v", got)
			}
			return nil
		})
		eventually(t, arrives, "Envoy notices that its stream is dead", func() error {
			figures, err := stats(t.Context(), connected, "^control_plane.connected_state$")
			if err == nil && figures["control_plane.connected_state"] != 0 {
				// an attempt takes 5 s to fail, then there is a pause
				err = errors.New("it is connected, or tries to be")
			}
			return err
		})
		heal()
		painted(t, "front", "blue", arrivesLate)
		allConnected(t, planes(t), len(colorsPods(t)))
	})
}

func controlPlaneHung(t *testing.T) {
	underBothLoads(t, func() {
		at, fresh := sidecars(t), planes(t)
		before := configured(t, at)
		processes := controlPlanes(t)
		signal(t, "STOP", processes...)
		awakened := false
		awaken := func() {
			if !awakened {
				awakened = true
				signal(t, "CONT", processes...)
			}
		}
		defer awaken()
		awayFor(t, 20*time.Second, func() error { return nil })
		if _, err := fetch(t.Context(), fresh[0]+"readyz"); err == nil {
			t.Error("a control plane that hangs answers")
		}
		awaken()
		waitReady(t, "anymesh-system", "deployment/anymesh")
		allConnected(t, fresh, len(at))
		unchanged(t, before, configured(t, at))
		paint(t, "red")
		painted(t, "front", "red", arrives)
		painted(t, "second", "red", arrives)
	})
}
