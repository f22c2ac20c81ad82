package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func httpProbe(path string) *corev1.Probe {
	return probe(corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8080)}})
}

func probe(h corev1.ProbeHandler) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: h, PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: 2}
}

// withHighThreshold raises the thresholds of probes that would restart a healthy container: on a busy machine it may
// take seconds to listen.
func withHighThreshold(p *corev1.Probe) *corev1.Probe {
	p.FailureThreshold = 60
	return p
}

var handlers = map[string]struct{ good, bad corev1.ProbeHandler }{
	"http": {
		corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}},
		corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/nothing-here", Port: intstr.FromInt32(8080)}},
	},
	"tcp": {
		corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}},
		corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8081)}},
	},
	"exec": {
		corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/usr/local/bin/testapp"}}},
		corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/no/such/file"}}},
	},
	"grpc": {
		corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9090}},
		corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9091}},
	},
}

// TestProbes checks that each kind of probe makes a healthy Pod Ready and restarts a container with a failing
// liveness probe.
func TestProbes(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	for kind, h := range handlers {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			good := pod("good-"+kind, app("app"))
			good.Spec.Containers[0].StartupProbe = withHighThreshold(probe(h.good))
			good.Spec.Containers[0].LivenessProbe = withHighThreshold(probe(h.good))
			good.Spec.Containers[0].ReadinessProbe = probe(h.good)
			bad := pod("bad-"+kind, app("app"))
			bad.Spec.Containers[0].LivenessProbe = probe(h.bad)
			c.create(t, ns, bad)
			got := c.ready(t, ns, good)
			if n := got.Status.ContainerStatuses[0].RestartCount; n != 0 {
				t.Errorf("the healthy Pod was restarted %d times", n)
			}
			c.await(t, ns, bad.Name, func(p *corev1.Pod) bool {
				return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount > 0
			})
		})
	}
}

// TestReadinessLost checks that a Pod with failing readiness becomes NotReady without a restart.
func TestReadinessLost(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	p := c.ready(t, ns, pod("app", app("app")))
	c.mustAsk(t, p, "fail")
	p = c.await(t, ns, p.Name, func(p *corev1.Pod) bool { return !p.Status.ContainerStatuses[0].Ready })
	if n := p.Status.ContainerStatuses[0].RestartCount; n != 0 {
		t.Errorf("restarted %d times", n)
	}
}

// TestExecProbeTimeout checks that a hanging exec probe is stopped after its timeout.
func TestExecProbeTimeout(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	p := pod("slow", app("app"))
	hang := probe(corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "sleep 1000; true"}}})
	hang.TimeoutSeconds, hang.FailureThreshold = 1, 1
	p.Spec.Containers[0].LivenessProbe = hang
	c.create(t, ns, p)
	c.await(t, ns, p.Name, func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount > 0
	})
}
