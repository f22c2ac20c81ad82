package e2e

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// setColorWeights shares the calls of color between its versions.
func setColorWeights(t *testing.T, red, blue int) {
	t.Helper()
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/routes/0/httpRoute/action/weightedTargets/0/weight","value":%d},`+
		`{"op":"replace","path":"/spec/routes/0/httpRoute/action/weightedTargets/1/weight","value":%d}]`, red, blue)
	if _, err := appMesh(t, "virtualrouters", "colors").Patch(t.Context(), "color", types.JSONPatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestColorsWithEachDriver replaces all sidecars of the example by those of each driver that this machine has a program
// of. Calls over HTTP, gRPC and TCP succeed, and follow the weights of the route.
func TestColorsWithEachDriver(t *testing.T) {
	classes := []string{"native", "envoy"}
	if pipyProgram() != "" {
		classes = []string{"native", "pipy", "envoy"}
	}
	setColorWeights(t, 3, 1)
	for _, class := range classes {
		swap := func(name string) {
			run(t, "-n", "colors", "patch", "deployment", name, "-p",
				`{"spec":{"template":{"metadata":{"annotations":{"anymesh.dev/sidecarClass":"`+class+`"}}}}}`)
			run(t, "-n", "colors", "rollout", "status", "deployment", name, "--timeout=120s")
		}
		swap("front")
		underSteadyLoad(t, func() { // each peer of front once has another driver
			for _, name := range []string{"color-red", "color-blue", "tally", "store"} {
				swap(name)
			}
		})
		for _, share := range [][2]int{{1, 9}, {3, 1}} {
			setColorWeights(t, share[0], share[1])
			const calls = 400
			eventually(t, 30*time.Second, fmt.Sprintf("%s: color-red gets %d of %d", class, share[0], share[0]+share[1]), func() error {
				got := callsFrom(t, "front", colorURL, calls)
				red := calls * share[0] / (share[0] + share[1])
				if got["red"]+got["blue"] != calls || got["red"] < red-50 || got["red"] > red+50 {
					return fmt.Errorf("%d calls reach %v", calls, got)
				}
				return nil
			})
		}
		for url, version := range map[string]string{
			tallyURL: "tally", storeURL: "store",
		} {
			eventually(t, 20*time.Second, class+": front calls "+version, func() error {
				if got := callsFrom(t, "front", url, 20); got[version] != 20 {
					return fmt.Errorf("got %v", got)
				}
				return nil
			})
		}
	}
}
