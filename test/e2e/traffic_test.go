package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

const colorURL = "http://color.colors.svc.cluster.local:8080/"

// TestWeightsSplitTraffic checks a split of 3:1 with a statistical bound that holds in 999 of 1000 cases.
func TestWeightsSplitTraffic(t *testing.T) {
	const calls, share, deviations = 2000, 0.75, 3.2905
	counts := callsFrom(t, "front", colorURL, calls)
	if got := counts["red"] + counts["blue"]; got != calls {
		t.Fatalf("%d of %d calls succeeded: %v", got, calls, counts)
	}
	bound := deviations * math.Sqrt(calls*share*(1-share))
	if off := math.Abs(float64(counts["red"]) - calls*share); off > bound {
		t.Errorf("red answered %d of %d: deviation %.0f, limit %.0f", counts["red"], calls, off, bound)
	}
}

// TestServicesAreReached covers a service whose provider is a VirtualNode, and a TCP service.
func TestServicesAreReached(t *testing.T) {
	for target, version := range map[string]string{
		"http://tally.colors.svc.cluster.local:8081/": "tally",
		"tcp://store.colors.svc.cluster.local:9000":   "store",
	} {
		t.Run(target, func(t *testing.T) {
			o, err := callFrom(t.Context(), "front", target)
			if err := want(o, err, o.Version == version, version); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUndeclaredBackendsFollowTheEgressFilter checks that undeclared hosts are rejected: with 404 on ports that have
// backends, with a reset on other ports. With ALLOW_ALL, both are forwarded.
func TestUndeclaredBackendsFollowTheEgressFilter(t *testing.T) {
	apply(t, outsideManifests)
	waitReady(t, "outside", "deployment/outside")
	sameHTTPPort := "http://outside.outside.svc.cluster.local:8080/"
	otherPort := "http://outside.outside.svc.cluster.local:7070/"

	t.Run("DROP_ALL", func(t *testing.T) {
		o, err := callFrom(t.Context(), "front", sameHTTPPort)
		if err := want(o, err, o.Status == 404 && o.Version == "", "404 from the sidecar"); err != nil {
			t.Error(err)
		}
		o, err = callFrom(t.Context(), "front", otherPort)
		if err := want(o, err, o.Status == 0 && o.Error != "", "connection error"); err != nil {
			t.Error(err)
		}
	})
	t.Run("ALLOW_ALL", func(t *testing.T) {
		t.Cleanup(func() { patchMesh(t, "DROP_ALL") })
		patchMesh(t, "ALLOW_ALL")
		for _, target := range []string{sameHTTPPort, otherPort} {
			eventually(t, 20*time.Second, target, func() error {
				o, err := callFrom(t.Context(), "front", target)
				return want(o, err, o.Version == "outside", "response of outside")
			})
		}
		// A connection to the port itself, of 7 bytes, would make the proxy connect to itself without end.
		for _, ip := range podIPs(t, "colors", "app=front") {
			for _, port := range []int{15000, 15001} {
				if o := fromOutside(t, hostPort(ip, port)); !strings.Contains(o.Error, "connection refused") {
					t.Errorf("port %d of the proxy at %s: want the connection refused, got %+v", port, ip, o)
				}
			}
		}
	})
	eventually(t, 20*time.Second, "rejected again", func() error {
		o, err := callFrom(t.Context(), "front", otherPort)
		return want(o, err, o.Status == 0 && o.Error != "", "connection error")
	})
}

func patchMesh(t *testing.T, egress string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"egressFilter":{"type":%q}}}`, egress)
	if _, err := kubectl(contextOf(t), "patch", "mesh.appmesh.k8s.aws", "colors", "--type=merge", "-p",
		patch); err != nil {
		t.Error(err)
	}
}

// TestWeightsChangeWithoutLoss checks that weight changes under load lose no request.
func TestWeightsChangeWithoutLoss(t *testing.T) {
	calls := startCalls(t, "front", colorURL, 6000)
	set := func(red, blue int) {
		patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/routes/0/httpRoute/action/weightedTargets/0/weight","value":%d},
			{"op":"replace","path":"/spec/routes/0/httpRoute/action/weightedTargets/1/weight","value":%d}]`, red, blue)
		run(t, "-n", "colors", "patch", "virtualrouter.appmesh.k8s.aws", "color", "--type=json", "-p", patch)
	}
	edits := 0
	for {
		select {
		case <-calls.Done():
			set(3, 1)
			for outcome, n := range calls.Wait(t) {
				if outcome != "red" && outcome != "blue" {
					t.Errorf("%d calls: %s", n, outcome)
				}
			}
			if edits < 2 {
				t.Errorf("only %d edits during the calls", edits)
			}
			eventually(t, 10*time.Second, "the old weights", func() error {
				c := callsFrom(t, "front", colorURL, 100)
				if c["red"] < 50 || c["blue"] == 0 {
					return fmt.Errorf("%v", c)
				}
				return nil
			})
			return
		default:
			edits++
			set(edits%5+1, edits%3+1)
		}
	}
}

// TestBadObjectAffectsOnlyItself checks that a broken object has a False condition and that the rest of the mesh
// works.
func TestBadObjectAffectsOnlyItself(t *testing.T) {
	apply(t, `
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualRouter
metadata: {namespace: colors, name: broken}
spec:
  listeners: [{portMapping: {port: 8080, protocol: http}}]
  routes:
    - name: lost
      httpRoute:
        match: {prefix: /}
        action:
          weightedTargets: [{virtualNodeRef: {name: nobody}, weight: 1}]
`)
	eventually(t, 10*time.Second, "condition of the broken router", func() error {
		got, err := kubectl(t.Context(), "-n", "colors", "get", "virtualrouter.appmesh.k8s.aws", "broken", "-o",
			`jsonpath={range .status.conditions[*]}{.type} {.status} {.reason} {.message}{end} {.status.observedGeneration}`)
		if err != nil {
			return err
		}
		for _, part := range []string{
			"VirtualRouterActive False ReferenceNotFound",
			"spec.routes[0].httpRoute.action.weightedTargets[0].virtualNodeRef", "colors/nobody", " 1",
		} {
			if !strings.Contains(got, part) {
				return fmt.Errorf("%q lacks %q", got, part)
			}
		}
		return nil
	})
	eventually(t, 10*time.Second, "event of the broken router", func() error {
		events := run(t, "-n", "colors", "get", "events", "--field-selector", "involvedObject.name=broken", "-o",
			"jsonpath={.items[*].reason}")
		if !strings.Contains(events, "ReferenceNotFound") {
			return fmt.Errorf("events: %q", events)
		}
		return nil
	})
	if counts := callsFrom(t, "front", colorURL, 50); counts["red"]+counts["blue"] != 50 {
		t.Errorf("calls to color: %v", counts)
	}
}
