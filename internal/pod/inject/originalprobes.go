package inject

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

// originalProbes returns the probes of the application, of each kind that of the last container that has one with a
// port, as in Open Service Mesh. Drivers get them before rewriteProbes redirects them.
func originalProbes(pod *corev1.Pod) (out sidecar.HealthProbes) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		set := func(into **sidecar.HealthProbe, probe *corev1.Probe) {
			if p, ok := healthProbe(c, probe); ok {
				*into = &p
			}
		}
		set(&out.Liveness, c.LivenessProbe)
		set(&out.Readiness, c.ReadinessProbe)
		set(&out.Startup, c.StartupProbe)
	}
	return out
}

// healthProbe converts a probe with an HTTP request or a TCP connection to the pod. The contract of drivers has no
// others.
func healthProbe(c *corev1.Container, p *corev1.Probe) (out sidecar.HealthProbe, ok bool) {
	if p == nil || p.GRPC != nil {
		return out, false
	}
	port, ok := probedPort(c, p)
	out.Port, out.Timeout = int32(port), time.Duration(p.TimeoutSeconds)*time.Second //nolint:gosec // validated as a port
	if get := p.HTTPGet; get != nil {
		out.Path, out.HTTP = get.Path, get.Scheme != corev1.URISchemeHTTPS
	} else {
		out.TCPSocket = true
	}
	return out, ok
}
