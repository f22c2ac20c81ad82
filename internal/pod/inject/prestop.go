package inject

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

const (
	// preStopDelayKey is the pod annotation for the seconds that an application goes on serving once its pod is told to stop.
	preStopDelayKey = "anymesh.dev/preStopDelay"
	// defaultPreStopDelay is longer than a cluster takes to stop sending new connections to a pod that is told to stop.
	defaultPreStopDelay = 5
	// defaultGracePeriod is that of Kubernetes, in seconds.
	defaultGracePeriod = 30
)

// addPreStop lets applications that others call go on serving for a while once their pod is told to stop. Kubernetes tells the
// application and those who balance over it at the same time; a server that stops listening at once would refuse the calls of
// everybody who has not heard yet. Meanwhile the sidecar asks callers to leave. Containers with a preStop hook know better,
// and the delay takes no more than half of the pod's grace period.
func addPreStop(pod *corev1.Pod, delay int64) {
	grace := int64(defaultGracePeriod)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	delay = min(delay, grace/2)
	if delay < 1 {
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

// maxPreStopDelay is an hour: whoever asks for more has mistaken the unit.
const maxPreStopDelay = 3600

// preStopDelay reads the annotation, in seconds.
func preStopDelay(pod *corev1.Pod) (int64, error) {
	value, ok := pod.Annotations[preStopDelayKey]
	if !ok {
		return defaultPreStopDelay, nil
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds < 0 || seconds > maxPreStopDelay {
		return 0, fmt.Errorf("annotation %s: %q is no number of seconds from 0 to %d", preStopDelayKey, value, maxPreStopDelay)
	}
	return seconds, nil
}
