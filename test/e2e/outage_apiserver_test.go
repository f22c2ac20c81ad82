package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func testAPIServerOutage(t *testing.T) {
	at, fixed := sidecars(t), controlPlaneAddresses(t)
	tally := strings.TrimSpace(run(t, "-n", "colors", "get", "pods", "-l", "app=tally", "-o",
		"jsonpath={.items[0].metadata.name}"))
	second := strings.TrimSpace(run(t, "-n", "colors", "get", "pods", "-l", "app=second", "-o",
		"jsonpath={.items[0].status.podIP}"))
	address := strings.TrimSpace(run(t, "-n", "colors", "get", "pod", tally, "-o", "jsonpath={.status.podIP}"))
	restarts := planeRestarts(t)
	sum := func(name string) float64 {
		t.Helper()
		n, err := sumMetric(t.Context(), fixed, name, "")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ready := func() error {
		for _, plane := range fixed {
			if _, err := fetch(t.Context(), plane+"readyz"); err != nil {
				return fmt.Errorf("control plane %s is not ready: %w", plane, err)
			}
		}
		return nil
	}
	underBothLoads(t, func() {
		routeAllTo(t, "red")
		waitForVersion(t, "front", "red", updateTimeout)
		waitForVersion(t, "second", "red", updateTimeout)
		if _, err := anymesh(t.Context(), "sandbox", "apiserver", "kill", "--name", lab.name); err != nil {
			t.Fatal(err)
		}
		back := func() {
			if _, err := anymesh(contextOf(t), "sandbox", "apiserver", "start", "--name", lab.name); err != nil {
				t.Error(err)
			}
		}
		defer func() {
			if back != nil {
				back()
			}
		}()
		until := time.Now().Add(outageDuration())
		if err := checkNoListener(t.Context(), "127.0.0.1", 6443); err != nil {
			t.Error(err)
		}

		// Sidecars reopen streams that end during the outage, and unchanged resources are not sent again.
		sent, before := sumWithoutScopes(t, fixed, "anymesh_xds_resources_total"), updateStats(t, at)
		heal := partition(t, second, "reject with tcp reset")
		eventually(t, updateTimeout, "the stream of second ends", func() error {
			if n := sum("anymesh_xds_streams"); int(n) != streamsPerPod*(len(at)-1) {
				return fmt.Errorf("%v streams", n)
			}
			return nil
		})
		heal()
		waitAllConnected(t, fixed, len(at))
		if more := sumWithoutScopes(t, fixed, "anymesh_xds_resources_total") - sent; more != 0 {
			t.Errorf("%v resources were sent again", more)
		}
		checkUnchanged(t, before, updateStats(t, at))

		// A new Envoy gets its complete configuration.
		signal(t, "KILL", proxiesAt(t, address)...)
		eventually(t, 40*time.Second, "a new Envoy in "+tally, func() error {
			figures, err := stats(t.Context(), at[tally],
				"^(server.uptime|server.live|listener_manager.listener_added|control_plane.connected_state)$")
			if err == nil &&
				(figures["server.uptime"] > 40 || figures["control_plane.connected_state"] != 1 || figures["listener_manager.listener_added"] < 2) {
				err = fmt.Errorf("%v", figures)
			}
			return err
		})
		waitAllConnected(t, fixed, len(at))
		if more := sumWithoutScopes(t, fixed, "anymesh_xds_resources_total") - sent; more == 0 {
			t.Error("no resources were sent to the new Envoy")
		}
		checkDuring(t, time.Until(until), ready)
		if err := checkNoListener(t.Context(), "127.0.0.1", 6443); err != nil {
			t.Error(err)
		}
		back()
		back = nil
		routeAllTo(t, "blue")
		waitForVersion(t, "front", "blue", updateTimeout)
		waitForVersion(t, "second", "blue", updateTimeout)
		// kubelet waits up to a minute before it watches again.
		run(t, "-n", "colors", "scale", "deployment", "color-red", "--replicas=2")
		run(t, "-n", "colors", "rollout", "status", "deployment/color-red", "--timeout=180s")
		if err := ready(); err != nil {
			t.Error(err)
		}
		if n := planeRestarts(t); n != restarts {
			t.Errorf("control planes were restarted %d times", n-restarts)
		}
		o, err := callFrom(t.Context(), "front", "http://tally.colors.svc.cluster.local:8081/")
		if err := want(o, err, o.Version == "tally", "tally"); err != nil {
			t.Error(err)
		}
	})
}

// planeRestarts counts how often kubelet has started control planes again.
func planeRestarts(t *testing.T) (n int32) {
	t.Helper()
	pods, err := lab.kube.CoreV1().Pods("anymesh-system").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			n += c.RestartCount
		}
	}
	return n
}
