package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPodOutsideWorkloadIsDisconnected takes the label of a workload from a running pod, and gives it back.
func TestPodOutsideWorkloadIsDisconnected(t *testing.T) {
	apply(t, attackedPod)
	run(t, "-n", "colors", "wait", "--for=condition=Ready", "pod/attacked", "--timeout=180s")
	debug, address := forward(t, 9091), podOf(t, "colors", "app=attacked").Status.PodIP
	streams := func(atLeast, atMost int) func() error {
		return func() error {
			n, err := streamsFrom(debug, address)
			if err == nil && (n < atLeast || n > atMost) {
				err = fmt.Errorf("%d streams", n)
			}
			return err
		}
	}
	eventually(t, 10*time.Second, "the pod is connected", streams(streamsPerPod, streamsPerPod))
	run(t, "-n", "colors", "label", "pod", "attacked", "app=nothing", "--overwrite")
	eventually(t, 10*time.Second, "the pod is disconnected", streams(0, 0))
	run(t, "-n", "colors", "label", "pod", "attacked", "app=attacked", "--overwrite")
	eventually(t, time.Minute, "the pod is connected again", streams(streamsPerPod, streamsPerPod))
}

// streamsFrom counts the streams of an address.
func streamsFrom(debug, address string) (n int, err error) {
	response, err := http.Get("http://" + debug + "/debug/clients")
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	var clients []struct{ Address string }
	if err := json.Unmarshal(text, &clients); err != nil {
		return 0, fmt.Errorf("clients %q: %w", text, err)
	}
	for _, c := range clients {
		if strings.HasPrefix(c.Address, address+":") {
			n++
		}
	}
	return n, nil
}
