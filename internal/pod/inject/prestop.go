package inject

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

const (
	// preStopDelayKey is the pod annotation with the delay of SIGTERM to the application after termination starts, in
	// seconds.
	preStopDelayKey = "anymesh.dev/preStopDelay"
	// defaultPreStopDelay exceeds the usual time until a terminating pod is removed from load balancing.
	defaultPreStopDelay = 5
	// defaultGracePeriod is the default of terminationGracePeriodSeconds.
	defaultGracePeriod = 30
)

// addPreStop adds a preStop sleep to containers without a preStop hook. Kubernetes sends SIGTERM and updates endpoints
// at the same time; a server that closes its listener immediately refuses connections of clients that have not
// processed the update yet. During the delay the sidecar asks clients to disconnect. The delay is at most half of the
// pod's grace period.
func addPreStop(pod *corev1.Pod, delay int64) {
	if delay = terminationDelay(pod, delay); delay < 1 {
		return
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Lifecycle == nil {
			c.Lifecycle = &corev1.Lifecycle{}
		}
		if c.Lifecycle.PreStop == nil {
			c.Lifecycle.PreStop = &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: delay}}
		}
	}
}

// terminationDelay limits a delay, in seconds, to half of the pod's grace period.
func terminationDelay(pod *corev1.Pod, delay int64) int64 {
	grace := int64(defaultGracePeriod)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return min(delay, grace/2)
}

// maxPreStopDelay is one hour; a larger value is probably in the wrong unit.
const maxPreStopDelay = 3600

// preStopDelay reads the annotation, in seconds.
func preStopDelay(pod *corev1.Pod) (int64, error) {
	value, ok := pod.Annotations[preStopDelayKey]
	if !ok {
		return defaultPreStopDelay, nil
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds < 0 || seconds > maxPreStopDelay {
		return 0, fmt.Errorf("annotation %s: %q is not a number of seconds from 0 to %d", preStopDelayKey, value,
			maxPreStopDelay)
	}
	return seconds, nil
}
